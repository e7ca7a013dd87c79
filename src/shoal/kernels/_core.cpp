// The compiled core: grouping of packed keys.
//
// A class is a key of W 64-bit words; every attribute owns one bit field of it that never straddles two words.
// Reading rows, rolling up to a coarser node, projecting and merging are all the same act:
// make a key, find it, add the weight.  Groups come out in the order of their first appearance.
#include "_shared.hpp"

#include <array>
#include <functional>

using namespace nb::literals;
using namespace shoal;
using Columns = std::vector<In<int32_t>>;
using Maps = std::vector<std::optional<In<int32_t>>>;

namespace {

constexpr size_t kParallelRows = 1 << 18;
constexpr size_t kBlock = 256;
constexpr size_t kGuess = 4;
constexpr size_t kSample = 1 << 14;

template <int W> using Key = std::array<uint64_t, W>;

template <int W> uint64_t hash(const Key<W>& key) {
  uint64_t h = 0;
  for (uint64_t word : key) {
    h = (h ^ word) * 0x9E3779B97F4A7C15ull;
    h ^= h >> 32;
  }
  return h;
}

template <int W> class Grouper {
 public:
  std::vector<Key<W>> keys;
  std::vector<int64_t> counts;

  explicit Grouper(size_t guess) { resize(guess); }

  uint32_t add(const Key<W>& key, int64_t weight) {
    if (2 * keys.size() >= slots_.size()) resize(2 * keys.size());
    for (size_t at = hash<W>(key) & mask_;; at = (at + 1) & mask_) {
      const uint32_t slot = slots_[at];
      if (slot != 0 && keys[slot - 1] == key) {
        counts[slot - 1] += weight;
        return slot - 1;
      }
      if (slot == 0) {
        keys.push_back(key);
        counts.push_back(weight);
        slots_[at] = static_cast<uint32_t>(keys.size());
        return slots_[at] - 1;
      }
    }
  }

 private:
  std::vector<uint32_t> slots_;  // index of the group + 1; 0 is free
  size_t mask_ = 0;

  void resize(size_t groups) {
    size_t capacity = 256;
    while (capacity < 4 * groups + 4) capacity *= 2;
    slots_.assign(capacity, 0);
    mask_ = capacity - 1;
    for (size_t i = 0; i < keys.size(); ++i) {
      size_t at = hash<W>(keys[i]) & mask_;
      while (slots_[at] != 0) at = (at + 1) & mask_;
      slots_[at] = static_cast<uint32_t>(i + 1);
    }
  }
};

template <int W>
nb::tuple result(Grouper<W>&& groups, std::vector<int32_t>&& ids, bool want_ids) {
  const size_t m = groups.keys.size();
  nb::object none = nb::none();
  const size_t n = ids.size();
  return nb::make_tuple(to_numpy<uint64_t>(std::move(groups.keys), {m, static_cast<size_t>(W)}),
                        to_numpy<int64_t>(std::move(groups.counts), {m}),
                        want_ids ? to_numpy<int32_t>(std::move(ids), {n}) : none);
}

// Makes the keys of a block: `fill(from, count, keys)`.  A call for each block costs nothing beside it, and grouping is
// compiled once for all who call it.
template <int W> using Fill = std::function<void(size_t, size_t, Key<W>*)>;

// Groups a range of the items; `weights` (or 1) are the counts.
template <int W>
void group_range(Grouper<W>& groups, size_t from, size_t to, const int64_t* weights, int32_t* ids,
                 const Fill<W>& fill) {
  std::array<Key<W>, kBlock> keys;
  for (size_t at = from; at < to; at += kBlock) {
    const size_t count = std::min(kBlock, to - at);
    fill(at, count, keys.data());
    for (size_t i = 0; i < count; ++i) {
      const uint32_t id = groups.add(keys[i], weights ? weights[at + i] : 1);
      if (ids) ids[at + i] = static_cast<int32_t>(id);
    }
  }
}

// Few groups among many items: ranges are grouped on all cores and merged in their order.
template <int W>
void group_few(Grouper<W>& all, size_t n, const int64_t* weights, std::vector<int32_t>& ids, const Fill<W>& fill) {
  std::vector<Grouper<W>> locals(cores(), Grouper<W>(0));
  int32_t* out = ids.empty() ? nullptr : ids.data();
  on_all_cores([&](size_t p, size_t parts) {
    group_range<W>(locals[p], n * p / parts, n * (p + 1) / parts, weights, out, fill);
  });
  for (size_t p = 0, parts = locals.size(); p < parts; ++p) {
    std::vector<int32_t> global(locals[p].keys.size());
    for (size_t g = 0; g < global.size(); ++g)
      global[g] = static_cast<int32_t>(all.add(locals[p].keys[g], locals[p].counts[g]));
    if (out)
      for (size_t i = n * p / parts; i < n * (p + 1) / parts; ++i) out[i] = global[out[i]];
  }
}

template <int W> struct Item {
  Key<W> key;
  int64_t weight;
  uint32_t index, group;
};

// Many groups: one table of all would miss the cache with every item.  So the items are first dealt out by their hash to
// bins whose tables fit in the cache; at the end each group gets the place of its first appearance among all items.
template <int W> class Bins {
 public:
  Bins(size_t n, const int64_t* weights, const Fill<W>& fill) : n_(n), items_(n), firsts_(kBins) {
    const size_t parts = cores();
    std::vector<Key<W>> keys(n);
    std::vector<std::array<uint32_t, kBins>> next(parts);  // where each range of items writes in each bin
    on_all_cores([&](size_t p, size_t) {
      next[p].fill(0);
      for (size_t at = n * p / parts, end = n * (p + 1) / parts; at < end; at += kBlock) {
        const size_t count = std::min(kBlock, end - at);
        fill(at, count, keys.data() + at);
        for (size_t i = at; i < at + count; ++i) ++next[p][bin(keys[i])];
      }
    });
    uint32_t total = 0;
    for (size_t b = 0; b < kBins; ++b) {
      begin_[b] = total;
      for (auto& counts : next) {
        const uint32_t count = counts[b];
        counts[b] = total;
        total += count;
      }
    }
    begin_[kBins] = total;
    on_all_cores([&](size_t p, size_t) {
      for (size_t i = n * p / parts; i < n * (p + 1) / parts; ++i)
        items_[next[p][bin(keys[i])]++] = {keys[i], weights ? weights[i] : 1, static_cast<uint32_t>(i), 0};
    });
  }

  void group(Grouper<W>& all, std::vector<int32_t>& ids) {
    std::vector<std::vector<int64_t>> sums(kBins);
    on_all_cores([&](size_t p, size_t parts) {
      for (size_t b = p; b < kBins; b += parts) {
        Grouper<W> groups((begin_[b + 1] - begin_[b]) / 2);
        for (uint32_t at = begin_[b]; at < begin_[b + 1]; ++at) {
          items_[at].group = groups.add(items_[at].key, items_[at].weight);
          if (items_[at].group == firsts_[b].size()) firsts_[b].push_back(at);
        }
        sums[b] = std::move(groups.counts);
      }
    });
    const std::vector<uint32_t> before = mark_firsts();
    all.keys.resize(before.back());
    all.counts.resize(before.back());
    on_all_cores([&](size_t p, size_t parts) {
      for (size_t b = p; b < kBins; b += parts) {
        std::vector<int32_t> place(firsts_[b].size());
        for (size_t g = 0; g < place.size(); ++g) {
          const Item<W>& first = items_[firsts_[b][g]];
          place[g] = static_cast<int32_t>(rank(before, first.index));
          all.keys[place[g]] = first.key;
          all.counts[place[g]] = sums[b][g];
        }
        if (!ids.empty())
          for (uint32_t at = begin_[b]; at < begin_[b + 1]; ++at) ids[items_[at].index] = place[items_[at].group];
      }
    });
  }

 private:
  static constexpr int kBinBits = 8;
  static constexpr size_t kBins = size_t{1} << kBinBits;
  size_t n_;
  std::vector<Item<W>> items_;
  std::array<uint32_t, kBins + 1> begin_{};
  std::vector<std::vector<uint32_t>> firsts_;  // per bin and group, the item that comes first
  std::vector<uint64_t> marks_;

  static size_t bin(const Key<W>& key) { return hash<W>(key) >> (64 - kBinBits); }

  // One bit for every item, set where a group appears first; returns how many are set before each word.
  std::vector<uint32_t> mark_firsts() {
    marks_.assign(n_ / 64 + 1, 0);
    for (const auto& bin : firsts_)
      for (const uint32_t at : bin) marks_[items_[at].index / 64] |= uint64_t{1} << (items_[at].index % 64);
    std::vector<uint32_t> before(marks_.size() + 1, 0);
    for (size_t w = 0; w < marks_.size(); ++w) before[w + 1] = before[w] + ones(marks_[w]);
    return before;
  }

  size_t rank(const std::vector<uint32_t>& before, uint32_t index) const {
    return before[index / 64] + ones(marks_[index / 64] & ((uint64_t{1} << (index % 64)) - 1));
  }

  static uint32_t ones(uint64_t word) {
    uint32_t count = 0;
    for (; word != 0; word &= word - 1) ++count;
    return count;
  }
};

// Groups the items [0, n).  The outcome does not depend on the number of cores.
template <int W>
nb::tuple group(size_t n, bool want_ids, const int64_t* weights, const Fill<W>& fill) {
  if (n > INT32_MAX) throw std::length_error("more than 2,147,483,647 items in one grouping");
  std::vector<int32_t> ids(want_ids ? n : 0);
  Grouper<W> all(n < kParallelRows ? n / kGuess : 0);
  {
    nb::gil_scoped_release release;
    if (n < kParallelRows) {
      group_range<W>(all, 0, n, weights, want_ids ? ids.data() : nullptr, fill);
    } else {
      Grouper<W> sample(0);
      group_range<W>(sample, 0, kSample, nullptr, nullptr, fill);
      if (8 * sample.keys.size() < kSample) {
        group_few<W>(all, n, weights, ids, fill);
      } else {
        Bins<W>(n, weights, fill).group(all, ids);
      }
    }
  }
  return result<W>(std::move(all), std::move(ids), want_ids);
}

// New codes for old, word by word.  Neighbouring fields share one table (of at most 2^kTableBits entries, its values
// already shifted into place), so a key costs a few independent look-ups.
class Translation {
 public:
  Translation(const Layout& fields, const Maps& maps, size_t words) : steps_(words), keep_(words, ~uint64_t{0}) {
    for (size_t f = 0; f < fields.fields;) {
      const int32_t word = fields.word[f], shift = fields.shift[f];
      std::vector<uint64_t> table{0};
      bool mapped = false;
      int bits = 0;
      for (; f < fields.fields && fields.word[f] == word; ++f) {
        const int width = width_of(fields.mask[f]);
        if (bits > 0 && (bits + width > kTableBits || fields.shift[f] != shift + bits)) break;
        if (bits == 0 && !maps[f]) {  // alone and unchanged so far: nothing to look up
          ++f;
          break;
        }
        mapped = mapped || maps[f];
        extend(table, maps[f], fields.mask[f], fields.shift[f]);
        bits += width;
      }
      if (!mapped) continue;
      const uint64_t mask = (uint64_t{1} << bits) - 1;
      steps_[word].push_back({shift, mask, tables_.size(), table.size()});
      keep_[word] &= ~(mask << shift);
      tables_.insert(tables_.end(), table.begin(), table.end());
    }
  }

  template <typename Key> void operator()(size_t word, const Key* old, size_t count, Key* fresh) const {
    const uint64_t keep = keep_[word];
    for (size_t i = 0; i < count; ++i) fresh[i][word] = old[i][word] & keep;
    for (const Step& step : steps_[word]) {
      const uint64_t *table = tables_.data() + step.at, mask = step.mask;
      const int32_t shift = step.shift;
      if (step.size <= mask) {  // a short table: look before leaping
        uint64_t last = 0;
        for (size_t i = 0; i < count; ++i) last = std::max(last, (old[i][word] >> shift) & mask);
        if (last >= step.size) throw std::invalid_argument("a code that its map does not know");
      }
      for (size_t i = 0; i < count; ++i) fresh[i][word] |= table[(old[i][word] >> shift) & mask];
    }
  }

 private:
  static constexpr int kTableBits = 11;
  struct Step { int32_t shift; uint64_t mask; size_t at, size; };
  std::vector<std::vector<Step>> steps_;
  std::vector<uint64_t> keep_, tables_;

  // Makes the table of fields 1..j from that of 1..j-1; only the codes that a map knows are filled in.
  static void extend(std::vector<uint64_t>& table, const std::optional<In<int32_t>>& map, uint64_t mask, int shift) {
    const size_t size = table.size(), codes = map ? map->size() : mask + 1;
    if (codes > mask + 1) throw std::invalid_argument("a map has more codes than its field");
    const bool alone = (mask >> kTableBits) != 0;  // too wide to share a table: no room for codes that do not occur
    std::vector<uint64_t> wider(alone ? codes : size * (mask + 1), 0);
    for (uint64_t code = 0; code < codes; ++code) {
      const uint64_t fresh = map ? static_cast<uint32_t>(map->data()[code]) : code;
      if (fresh > mask) throw std::invalid_argument("a map leads out of its field");
      for (size_t x = 0; x < size; ++x) wider[code * size + x] = table[x] | (fresh << shift);
    }
    table = std::move(wider);
  }
};

// Numbers all keys that can come out of a rollup, where they are few: a table of them all needs no hash and compares no
// key.  As in a translation, neighbouring fields share one table; a place is the sum of what the tables say.
class Places {
 public:
  size_t cells = 1;  // number of places; 0 where they are too many

  Places(const Layout& fields, const Maps& maps, size_t most) {
    std::vector<uint64_t> stride(fields.fields);
    for (size_t f = 0; f < fields.fields; ++f) {
      const int width = width_of(fields.mask[f]);
      uint64_t codes = fields.mask[f] + 1;
      if (maps[f]) {
        const int32_t* map = maps[f]->data();
        codes = maps[f]->size() ? static_cast<uint64_t>(*std::max_element(map, map + maps[f]->size())) + 1 : 1;
      }
      stride[f] = cells;
      if (width > kTableBits || codes > most / cells) {
        cells = 0;
        return;
      }
      cells *= codes;
    }
    for (size_t f = 0; f < fields.fields;) {
      const int32_t word = fields.word[f], shift = fields.shift[f];
      std::vector<uint32_t> table{0};
      int bits = 0;
      for (; f < fields.fields && fields.word[f] == word; ++f) {
        const int width = width_of(fields.mask[f]);
        if (bits > 0 && (bits + width > kTableBits || fields.shift[f] != shift + bits)) break;
        std::vector<uint32_t> wider(table.size() << width, kUnknown);
        const size_t codes = maps[f] ? std::min<size_t>(maps[f]->size(), size_t{1} << width) : size_t{1} << width;
        for (size_t code = 0; code < codes; ++code) {
          const uint64_t fresh = maps[f] ? static_cast<uint32_t>(maps[f]->data()[code]) : code;
          const uint32_t add = static_cast<uint32_t>(fresh * stride[f]);
          for (size_t x = 0; x < table.size(); ++x)
            wider[code * table.size() + x] = table[x] == kUnknown ? kUnknown : table[x] + add;
        }
        table = std::move(wider);
        bits += width;
      }
      steps_.push_back({word, shift, (uint64_t{1} << bits) - 1, tables_.size()});
      tables_.insert(tables_.end(), table.begin(), table.end());
    }
  }

  template <typename Key> void operator()(const Key* old, size_t count, uint32_t* places) const {
    std::fill(places, places + count, 0u);
    uint32_t unknown = 0;
    for (const Step& step : steps_) {
      const uint32_t* table = tables_.data() + step.at;
      for (size_t i = 0; i < count; ++i) {
        const uint32_t place = table[(old[i][step.word] >> step.shift) & step.mask];
        unknown |= place & kUnknown;
        places[i] += place;
      }
    }
    if (unknown) throw std::invalid_argument("a code that its map does not know");
  }

 private:
  static constexpr int kTableBits = 11;
  static constexpr uint32_t kUnknown = uint32_t{1} << 31;  // more than any place
  struct Step { int32_t word, shift; uint64_t mask; size_t at; };
  std::vector<Step> steps_;
  std::vector<uint32_t> tables_;
};

constexpr size_t kCellsPerItem = 8;

// Rolls up `n` keys into few places.  Groups come out in the order of their first appearance, as they do by hashing.
template <int W>
nb::tuple group_places(size_t n, bool want_ids, const int64_t* weights, const Key<W>* source, const Places& places,
                       const Translation& translation) {
  std::vector<int32_t> ids(want_ids ? n : 0);
  Grouper<W> all(0);
  {
    nb::gil_scoped_release release;
    std::vector<uint32_t> group(places.cells, 0);  // its number + 1
    std::array<uint32_t, kBlock> at;
    for (size_t from = 0; from < n; from += kBlock) {
      const size_t count = std::min(kBlock, n - from);
      places(source + from, count, at.data());
      for (size_t i = 0; i < count; ++i) {
        uint32_t& number = group[at[i]];
        if (number == 0) {
          Key<W> key;
          for (int word = 0; word < W; ++word) translation(word, source + from + i, 1, &key);
          all.keys.push_back(key);
          all.counts.push_back(0);
          number = static_cast<uint32_t>(all.keys.size());
        }
        all.counts[number - 1] += weights[from + i];
        if (want_ids) ids[from + i] = static_cast<int32_t>(number - 1);
      }
    }
  }
  return result<W>(std::move(all), std::move(ids), want_ids);
}

// Calls `f` with the number of words as a compile-time constant.
template <typename F> nb::tuple with_words(size_t words, F f) {
  if (words <= 1) return f(std::integral_constant<int, 1>{});
  if (words <= 2) return f(std::integral_constant<int, 2>{});
  if (words <= 4) return f(std::integral_constant<int, 4>{});
  if (words <= 8) return f(std::integral_constant<int, 8>{});
  if (words <= 16) return f(std::integral_constant<int, 16>{});
  if (words <= 32) return f(std::integral_constant<int, 32>{});
  throw std::length_error("keys wider than 2,048 bits");
}

nb::tuple group_columns(const Columns& columns, const In<int32_t>& word, const In<int32_t>& shift,
                        const In<uint64_t>& mask, size_t words, const std::optional<In<int64_t>>& weights,
                        bool want_ids) {
  const Layout fields = layout(word, shift, mask, words);
  if (columns.size() != fields.fields) throw std::invalid_argument("a column per field is needed");
  const size_t n = columns.empty() ? 0 : columns[0].size();
  std::vector<const int32_t*> data;
  for (const auto& column : columns) {
    if (column.size() != n) throw std::invalid_argument("columns of different lengths");
    data.push_back(column.data());
  }
  if (weights && weights->size() != n) throw std::invalid_argument("a weight per row is needed");
  const int64_t* given = weights ? weights->data() : nullptr;
  return with_words(words, [&](auto w) {
    constexpr int W = decltype(w)::value;
    return group<W>(n, want_ids, given, [&](size_t from, size_t count, Key<W>* made) {
      std::fill(made, made + count, Key<W>{});
      for (size_t f = 0; f < fields.fields; ++f) {
        const int32_t *codes = data[f] + from, word = fields.word[f], shift = fields.shift[f];
        uint32_t all = 0;
        for (size_t i = 0; i < count; ++i) {
          const uint32_t code = static_cast<uint32_t>(codes[i]);
          all |= code;
          made[i][word] |= static_cast<uint64_t>(code) << shift;
        }
        if (all > fields.mask[f]) throw std::invalid_argument("a code outside of its field");
      }
    });
  });
}

nb::tuple rollup(const Words& keys, const In<int64_t>& counts, const In<int32_t>& word,
                 const In<int32_t>& shift, const In<uint64_t>& mask, const Maps& maps, bool want_ids) {
  const Layout fields = layout(word, shift, mask, keys.shape(1));
  if (maps.size() != fields.fields) throw std::invalid_argument("a map or None per field is needed");
  if (counts.size() != keys.shape(0)) throw std::invalid_argument("a count per key is needed");
  const Translation translation(fields, maps, keys.shape(1));
  const size_t n = keys.shape(0);
  const Places places(fields, maps, n < kParallelRows ? kCellsPerItem * n : 0);
  return with_words(keys.shape(1), [&](auto w) {
    constexpr int W = decltype(w)::value;
    if (keys.shape(1) != W) throw std::invalid_argument("keys of an unknown width");
    const auto* source = reinterpret_cast<const Key<W>*>(keys.data());
    if (places.cells > 0) return group_places<W>(n, want_ids, counts.data(), source, places, translation);
    return group<W>(n, want_ids, counts.data(), [&](size_t from, size_t count, Key<W>* made) {
      for (int word = 0; word < W; ++word) translation(word, source + from, count, made);
    });
  });
}

// The same for one of several parts of the classes: which part a key belongs to, the fields in `by` decide.
nb::tuple rollup_part(const Words& keys, const In<int64_t>& counts, const In<int32_t>& word, const In<int32_t>& shift,
                      const In<uint64_t>& mask, const Maps& maps, const In<uint64_t>& by, uint64_t parts, uint64_t part) {
  const Layout fields = layout(word, shift, mask, keys.shape(1));
  if (maps.size() != fields.fields) throw std::invalid_argument("a map or None per field is needed");
  if (counts.size() != keys.shape(0)) throw std::invalid_argument("a count per key is needed");
  if (by.size() != keys.shape(1)) throw std::invalid_argument("a mask per word is needed");
  if (part >= parts || parts > UINT32_MAX) throw std::invalid_argument("there is no such part");
  const Translation translation(fields, maps, keys.shape(1));
  return with_words(keys.shape(1), [&](auto w) {
    constexpr int W = decltype(w)::value;
    if (keys.shape(1) != W) throw std::invalid_argument("keys of an unknown width");
    const auto* source = reinterpret_cast<const Key<W>*>(keys.data());
    const size_t n = keys.shape(0);
    std::vector<std::vector<Key<W>>> chosen(cores());
    std::vector<std::vector<int64_t>> weights(cores());
    {
      nb::gil_scoped_release release;
      on_all_cores([&](size_t p, size_t ranges) {
        std::array<Key<W>, kBlock> made;
        for (size_t at = n * p / ranges, end = n * (p + 1) / ranges; at < end; at += kBlock) {
          const size_t count = std::min(kBlock, end - at);
          for (int word = 0; word < W; ++word) translation(word, source + at, count, made.data());
          for (size_t i = 0; i < count; ++i) {
            Key<W> own = made[i];
            for (int word = 0; word < W; ++word) own[word] &= by.data()[word];
            // other bits than those that choose a bin or a slot later
            const uint64_t mixed = hash<W>(own) * 0xD6E8FEB86659FD93ull;
            if (((mixed >> 32) * parts) >> 32 != part) continue;
            chosen[p].push_back(made[i]);
            weights[p].push_back(counts.data()[at + i]);
          }
        }
      });
      for (size_t p = 1; p < chosen.size(); ++p) {
        chosen[0].insert(chosen[0].end(), chosen[p].begin(), chosen[p].end());
        weights[0].insert(weights[0].end(), weights[p].begin(), weights[p].end());
      }
    }
    const Key<W>* few = chosen[0].data();
    return group<W>(chosen[0].size(), false, weights[0].data(), [&](size_t from, size_t count, Key<W>* made) {
      std::copy(few + from, few + from + count, made);
    });
  });
}

// Counts per class and value after class i has become class `into[i]`, sorted by class and value: added up in a table of
// all pairs, which must be small.
nb::tuple merge_counts(const In<int32_t>& classes, const In<int32_t>& values, const In<int64_t>& counts,
                       const In<int32_t>& into, size_t merged, size_t size) {
  const size_t n = classes.size();
  if (values.size() != n || counts.size() != n) throw std::invalid_argument("a value and a count per entry is needed");
  std::vector<int64_t> table(merged * size, 0);
  for (size_t i = 0; i < n; ++i) {
    const size_t old = static_cast<uint32_t>(classes.data()[i]), value = static_cast<uint32_t>(values.data()[i]);
    if (old >= into.size() || value >= size) throw std::invalid_argument("a class or a value that is not known");
    const size_t fresh = static_cast<uint32_t>(into.data()[old]);
    if (fresh >= merged) throw std::invalid_argument("a class beyond the merged ones");
    table[fresh * size + value] += counts.data()[i];
  }
  std::vector<int32_t> of_class, of_value;
  std::vector<int64_t> sums;
  for (size_t c = 0; c < merged; ++c)
    for (size_t v = 0; v < size; ++v)
      if (const int64_t sum = table[c * size + v]; sum != 0) {
        of_class.push_back(static_cast<int32_t>(c));
        of_value.push_back(static_cast<int32_t>(v));
        sums.push_back(sum);
      }
  const size_t m = sums.size();
  return nb::make_tuple(to_numpy<int32_t>(std::move(of_class), {m}), to_numpy<int32_t>(std::move(of_value), {m}),
                        to_numpy<int64_t>(std::move(sums), {m}));
}

// Counts, per attribute and code, of the chosen classes: one histogram after the other, `offset` says where each begins.
nb::object marginals(const Words& keys, const In<int64_t>& counts, const In<bool>& chosen, const In<int32_t>& word,
                     const In<int32_t>& shift, const In<uint64_t>& mask, const In<int64_t>& offset, size_t total) {
  const size_t m = keys.shape(0), w = keys.shape(1);
  const Layout fields = layout(word, shift, mask, w);
  if (counts.size() != m || chosen.size() != m) throw std::invalid_argument("a count and a flag per key is needed");
  if (offset.size() != fields.fields) throw std::invalid_argument("an offset per field is needed");
  std::vector<int64_t> histogram(total, 0);
  for (size_t i = 0; i < m; ++i) {
    if (!chosen.data()[i]) continue;
    const uint64_t* key = keys.data() + i * w;
    for (size_t f = 0; f < fields.fields; ++f) {
      const uint64_t at = offset.data()[f] + ((key[fields.word[f]] >> fields.shift[f]) & fields.mask[f]);
      if (at >= total) throw std::invalid_argument("a code beyond the histograms");
      histogram[at] += counts.data()[i];
    }
  }
  return to_numpy<int64_t>(std::move(histogram), {total});
}

// Two tables counted at once: the low half of each count is of the one, the high half of the other.  Returns the keys
// and both counts of those that the first has, and how many it has not.
nb::tuple split_counts(const Words& keys, const In<int64_t>& both) {
  const size_t m = keys.shape(0), w = keys.shape(1);
  if (both.size() != m) throw std::invalid_argument("a count per key is needed");
  std::vector<uint64_t> inside;
  std::vector<int64_t> one, other;
  inside.reserve(m * w);
  one.reserve(m);
  other.reserve(m);
  for (size_t i = 0; i < m; ++i) {
    const int64_t count = both.data()[i];
    if ((count & UINT32_MAX) == 0) continue;
    inside.insert(inside.end(), keys.data() + i * w, keys.data() + (i + 1) * w);
    one.push_back(count & UINT32_MAX);
    other.push_back(count >> 32);
  }
  const size_t n = one.size();
  return nb::make_tuple(to_numpy<uint64_t>(std::move(inside), {n, w}), to_numpy<int64_t>(std::move(one), {n}),
                        to_numpy<int64_t>(std::move(other), {n}), m - n);
}

// How many rows lie in classes of fewer than `least` rows, and how many classes have more.
nb::tuple count_small(const In<int64_t>& counts, int64_t least) {
  int64_t rows = 0;
  size_t others = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    const int64_t count = counts.data()[i];
    if (count < least) rows += count;
    else ++others;
  }
  return nb::make_tuple(rows, others);
}

}  // namespace

void register_local(nb::module_& m);

NB_MODULE(_core, m) {
  // noconvert: a 64-bit code must not wrap around silently
  m.def("group_columns", &group_columns, "columns"_a.noconvert(), "word"_a, "shift"_a, "mask"_a, "words"_a,
        "weights"_a.none(), "want_ids"_a);
  m.def("rollup", &rollup, "keys"_a, "counts"_a, "word"_a, "shift"_a, "mask"_a, "maps"_a.noconvert(),
        "want_ids"_a);
  m.def("rollup_part", &rollup_part, "keys"_a, "counts"_a, "word"_a, "shift"_a, "mask"_a, "maps"_a.noconvert(), "by"_a,
        "parts"_a, "part"_a);
  m.def("merge_counts", &merge_counts, "classes"_a.noconvert(), "values"_a.noconvert(), "counts"_a, "into"_a.noconvert(),
        "merged"_a, "size"_a);
  m.def("marginals", &marginals, "keys"_a, "counts"_a, "chosen"_a, "word"_a, "shift"_a, "mask"_a, "offset"_a,
        "total"_a);
  m.def("split_counts", &split_counts, "keys"_a, "both"_a);
  m.def("count_small", &count_small, "counts"_a, "least"_a);
  bind_c45(m);
  bind_join(m);
  bind_lattice(m);
  bind_mondrian(m);
  bind_removal(m);
  register_local(m);
  bind_target(m);
}
