// Partitions by cuts, for k alone: what the ways to choose a cut share.
//
// The items lie in one array of positions, row by row, as narrow as the longest axis allows.  A part is a range of it;
// a cut permutes the range in place, so the parts at the end lie in the order of the tree, from left to right.  What a
// part does depends on its items only: the outcome depends neither on the number of cores nor on who takes which part.
#pragma once
#include "_shared.hpp"

#include <nanobind/stl/tuple.h>

#include <condition_variable>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <tuple>

namespace shoal {

// Positions of a row are padded to whole blocks of at most 16 bytes: a register, moved and compared at once.
template <typename T> constexpr size_t kBlock = sizeof(T) < 4 ? 8 : 4;
constexpr size_t kShared = 1 << 15;  // parts of more items go to whoever has nothing to do

// One quasi-identifier.  Along a hierarchy, ranks[h * size + position] numbers the groups of level h from left to right.
struct Axis {
  const double* ends = nullptr;
  double span = 1, importance = 1;
  int32_t null = -1;
  size_t levels = 0, size = 0, codes = 0;
  const int32_t* ranks = nullptr;
  const double* losses = nullptr;

  // The lowest level at which both ends are one group; one above the top where even that has several groups.
  size_t level(int32_t low, int32_t high) const {
    size_t h = 0;
    while (h < levels && ranks[h * size + low] != ranks[h * size + high]) ++h;
    return h;
  }

  // To the last bit what Axis.widths says: equal widths must be equal here, too.
  double width(int32_t low, int32_t high) const {
    if (levels > 0) {
      const size_t h = level(low, high);
      return (h < levels ? losses[h * size + low] : 1.0) * importance;
    }
    return mixed(low, high) ? std::numeric_limits<double>::infinity() : (ends[high] - ends[low]) / span * importance;
  }

  bool mixed(int32_t low, int32_t high) const { return high == null && low != null; }
};

struct Part {
  size_t begin, end;
  int64_t rows;
  std::vector<int32_t> low, high;  // its region, per axis
};

// Positions, item and weight of every row of the array.
template <typename T> struct Rows {
  size_t axes, stride;
  std::vector<T> at;
  std::vector<uint32_t> item, weight;  // no weights: all are 1

  Rows(size_t n, size_t axes, bool weighted)
      : axes(axes), stride((axes + kBlock<T> - 1) / kBlock<T> * kBlock<T>), at(n * stride), item(n), weight(weighted ? n : 0) {
    std::iota(item.begin(), item.end(), 0u);
  }

  int64_t weight_of(size_t i) const { return weight.empty() ? 1 : weight[i]; }
  int32_t position(size_t i, size_t axis) const { return at[i * stride + axis]; }

  void swap(size_t i, size_t j) {
    T *one = at.data() + i * stride, *other = at.data() + j * stride, kept[kBlock<T>];
    for (size_t block = 0; block < stride; block += kBlock<T>) {
      std::memcpy(kept, one + block, sizeof kept);
      std::memcpy(one + block, other + block, sizeof kept);
      std::memcpy(other + block, kept, sizeof kept);
    }
    std::swap(item[i], item[j]);
    if (!weight.empty()) std::swap(weight[i], weight[j]);
  }

  // Puts those of [begin, end) for which `left` says so before the others; returns where the others begin.
  template <typename Left> size_t split(size_t begin, size_t end, Left left) {
    for (;;) {
      while (begin < end && left(begin)) ++begin;
      while (begin < end && !left(end - 1)) --end;
      if (begin == end) return begin;
      swap(begin++, --end);
    }
  }

  // A row is first copied to where nothing else can point: only so do compilers compare a block at once.
  void bounds(size_t begin, size_t end, std::vector<T>& low, std::vector<T>& high) const {
    for (size_t block = 0; block < stride; block += kBlock<T>) {
      T least[kBlock<T>], most[kBlock<T>], row[kBlock<T>];
      std::memcpy(least, at.data() + begin * stride + block, sizeof least);
      std::memcpy(most, least, sizeof most);
      for (size_t i = begin + 1; i < end; ++i) {
        std::memcpy(row, at.data() + i * stride + block, sizeof row);
        for (size_t a = 0; a < kBlock<T>; ++a) {
          least[a] = row[a] < least[a] ? row[a] : least[a];
          most[a] = row[a] > most[a] ? row[a] : most[a];
        }
      }
      std::memcpy(low.data() + block, least, sizeof least);
      std::memcpy(high.data() + block, most, sizeof most);
    }
  }
};

using Give = std::function<void(Part)>;

// What one thread needs to cut a part; who inherits chooses the cut.
template <typename T> class Cutter {
 public:
  std::vector<Part> done;

  Cutter(Rows<T>& rows, const std::vector<Axis>& axes, int64_t k)
      : rows_(rows), axes_(axes), k_(k), low_(rows.stride), high_(rows.stride) {
    for (const Axis& axis : axes) shown_by_content_ = shown_by_content_ || axis.levels > 0 || axis.null >= 0;
  }
  virtual ~Cutter() = default;

  // Cuts the part once and hands each piece to `give`, or keeps it as done.
  void cut(Part part, const Give& give) {
    if (part.rows >= 2 * k_ || shown_by_content_) rows_.bounds(part.begin, part.end, low_, high_);
    if (part.rows < 2 * k_ || !cut_somewhere(part, give)) finish(std::move(part));
  }

 protected:
  Rows<T>& rows_;
  const std::vector<Axis>& axes_;
  const int64_t k_;
  std::vector<T> low_, high_;  // what the part holds
  std::vector<int64_t> histogram_;

  virtual bool cut_somewhere(Part& part, const Give& give) = 0;

  bool fits(const Part& part, int64_t left) const { return left >= k_ && part.rows - left >= k_; }

  // The left side holds the `rows` rows up to a position.
  void cut_after(Part& part, size_t a, int32_t last, int64_t rows, const Give& give) {
    const T value = static_cast<T>(last);
    const T* at = rows_.at.data() + a;
    const size_t stride = rows_.stride;
    const size_t middle = rows_.split(part.begin, part.end, [=](size_t i) { return at[i * stride] <= value; });
    give_sides(part, a, middle, rows, last, last + 1, give);
  }

  void give_sides(Part& part, size_t a, size_t middle, int64_t rows, int32_t last, int32_t first, const Give& give) {
    Part left{part.begin, middle, rows, part.low, part.high};
    Part right{middle, part.end, part.rows - rows, std::move(part.low), std::move(part.high)};
    left.high[a] = last;
    right.low[a] = first;
    give(std::move(left));
    give(std::move(right));
  }

  bool cut_to_children(Part& part, size_t a, const Give& give) {
    const int32_t* rank = ranks(a);
    const int32_t first = rank[low_[a]];
    histogram_.assign(rank[high_[a]] - first + 1, 0);
    for (size_t i = part.begin; i < part.end; ++i) histogram_[rank[rows_.position(i, a)] - first] += rows_.weight_of(i);
    for (const int64_t rows : histogram_)
      if (rows > 0 && rows < k_) return false;
    size_t begin = part.begin;
    for (size_t g = 0; g < histogram_.size(); ++g) {
      if (histogram_[g] == 0) continue;
      const int32_t last = first + static_cast<int32_t>(g);
      const size_t end = rows_.split(begin, part.end, [&](size_t i) { return rank[rows_.position(i, a)] <= last; });
      give(Part{begin, end, histogram_[g], part.low, part.high});
      begin = end;
    }
    return true;
  }

  // The numbers of the groups below the label of the part.
  const int32_t* ranks(size_t a) const {
    return axes_[a].ranks + (axes_[a].level(low_[a], high_[a]) - 1) * axes_[a].size;
  }

 private:
  bool shown_by_content_ = false;  // whether a region depends on what the part holds

  void finish(Part part) {
    for (size_t a = 0; a < axes_.size(); ++a) {
      const int32_t null = axes_[a].null;
      if (axes_[a].levels > 0) {
        part.low[a] = low_[a];
        part.high[a] = high_[a];
      } else if (null >= 0 && low_[a] == null) {
        part.low[a] = null;
      } else if (null >= 0 && high_[a] != null) {
        part.high[a] = std::min(part.high[a], null - 1);
      }
    }
    done.push_back(std::move(part));
  }
};

// Parts that wait for a thread; it ends when none waits and nobody is at work.
class Waiting {
 public:
  void give(Part part) {
    {
      const std::lock_guard<std::mutex> guard(lock_);
      parts_.push_back(std::move(part));
    }
    changed_.notify_one();
  }

  // Works until all is done; `work` may give more.
  template <typename Work> void serve(Work work) {
    std::unique_lock<std::mutex> guard(lock_);
    for (;;) {
      changed_.wait(guard, [&] { return !parts_.empty() || at_work_ == 0; });
      if (parts_.empty()) return;
      Part part = std::move(parts_.back());
      parts_.pop_back();
      ++at_work_;
      guard.unlock();
      try {
        work(std::move(part));
      } catch (...) {
        guard.lock();
        parts_.clear();
        --at_work_;
        changed_.notify_all();
        throw;
      }
      guard.lock();
      if (--at_work_ == 0) changed_.notify_all();
    }
  }

 private:
  std::mutex lock_;
  std::condition_variable changed_;
  std::vector<Part> parts_;
  size_t at_work_ = 0;
};

// Positions, ends, span, importance and null of an axis; along a hierarchy, its ranks and losses.
using AxisIn = std::tuple<In<int32_t>, In<double>, double, double, int32_t, std::optional<Matrix<int32_t>>,
                          std::optional<Matrix<double>>>;

struct Task {
  const uint64_t* keys;
  size_t n, words;
  const int64_t* counts;
  Layout fields;
  std::vector<const int32_t*> positions;
  std::vector<Axis> axes;
  int64_t k;
};

template <typename T> Rows<T> read_rows(const Task& task) {
  const bool weighted = std::any_of(task.counts, task.counts + task.n, [](int64_t count) { return count != 1; });
  Rows<T> rows(task.n, task.axes.size(), weighted);
  on_all_cores([&](size_t p, size_t parts) {
    for (size_t i = task.n * p / parts; i < task.n * (p + 1) / parts; ++i) {
      const uint64_t* key = task.keys + i * task.words;
      for (size_t a = 0; a < task.axes.size(); ++a) {
        const uint64_t code = (key[task.fields.word[a]] >> task.fields.shift[a]) & task.fields.mask[a];
        if (code >= task.axes[a].codes) throw std::invalid_argument("a code that its axis does not know");
        rows.at[i * rows.stride + a] = static_cast<T>(task.positions[a][code]);
      }
      if (weighted) rows.weight[i] = static_cast<uint32_t>(task.counts[i]);
    }
  });
  return rows;
}

struct Regions {
  std::vector<int32_t> part, low, high;
  size_t count = 0;
};

// Numbers the parts from left to right.
template <typename T> Regions numbered(const Rows<T>& rows, std::vector<Part> parts) {
  const size_t axes = rows.axes;
  std::sort(parts.begin(), parts.end(), [](const Part& one, const Part& other) { return one.begin < other.begin; });
  Regions regions{std::vector<int32_t>(rows.item.size()), std::vector<int32_t>(parts.size() * axes),
                  std::vector<int32_t>(parts.size() * axes), parts.size()};
  on_all_cores([&](size_t p, size_t cores) {
    for (size_t number = parts.size() * p / cores; number < parts.size() * (p + 1) / cores; ++number) {
      const Part& part = parts[number];
      std::copy(part.low.begin(), part.low.end(), regions.low.begin() + number * axes);
      std::copy(part.high.begin(), part.high.end(), regions.high.begin() + number * axes);
      for (size_t i = part.begin; i < part.end; ++i) regions.part[rows.item[i]] = static_cast<int32_t>(number);
    }
  });
  return regions;
}

// `make(rows)` makes the cutter of a thread.
template <typename T, typename Make> Regions cut_all(const Task& task, const Make& make) {
  Rows<T> rows = read_rows<T>(task);
  Part root{0, task.n, std::accumulate(task.counts, task.counts + task.n, int64_t{0}), {}, {}};
  for (const Axis& axis : task.axes) {
    root.low.push_back(0);
    root.high.push_back(static_cast<int32_t>(axis.size) - 1);
  }
  Waiting waiting;
  waiting.give(std::move(root));
  std::vector<std::vector<Part>> done(cores());
  on_all_cores([&](size_t p, size_t) {
    const std::unique_ptr<Cutter<T>> cutter = make(rows);
    std::vector<Part> mine;
    const Give give = [&](Part part) {
      if (part.end - part.begin > kShared)
        waiting.give(std::move(part));
      else
        mine.push_back(std::move(part));
    };
    waiting.serve([&](Part part) {
      cutter->cut(std::move(part), give);
      while (!mine.empty()) {
        Part next = std::move(mine.back());
        mine.pop_back();
        cutter->cut(std::move(next), give);
      }
    });
    done[p] = std::move(cutter->done);
  });
  std::vector<Part> all;
  for (auto& some : done) std::move(some.begin(), some.end(), std::back_inserter(all));
  return numbered(rows, std::move(all));
}

// Refuses what would read outside of an axis.
inline Axis axis_of(const AxisIn& given) {
  const auto& [positions, ends, span, importance, null, ranks, losses] = given;
  Axis axis;
  axis.size = ranks ? positions.size() : ends.size();  // spellings of one number share a position
  axis.codes = positions.size();
  if (axis.size > axis.codes) throw std::invalid_argument("a position without a code");
  for (size_t code = 0; code < axis.codes; ++code)
    if (positions.data()[code] < 0 || static_cast<size_t>(positions.data()[code]) >= axis.size)
      throw std::invalid_argument("a position outside of its axis");
  if (ranks) {
    if (!losses || ranks->shape(0) == 0 || ranks->shape(0) != losses->shape(0) || ranks->shape(1) != axis.size ||
        losses->shape(1) != axis.size)
      throw std::invalid_argument("a rank and a loss per level and position are needed");
    for (size_t h = 0; h < ranks->shape(0); ++h)
      for (size_t p = 1; p < axis.size; ++p)
        if ((*ranks)(h, p) < (*ranks)(h, p - 1)) throw std::invalid_argument("ranks that do not rise");
    axis.levels = ranks->shape(0);
    axis.ranks = ranks->data();
    axis.losses = losses->data();
  }
  axis.ends = ends.data();
  axis.span = span;
  axis.importance = importance;
  axis.null = ranks ? -1 : null;
  return axis;
}

inline Task task_of(const Words& keys, const In<int64_t>& counts, const In<int32_t>& word, const In<int32_t>& shift,
                    const In<uint64_t>& mask, const std::vector<AxisIn>& axes, int64_t k) {
  Task task{keys.data(), keys.shape(0), keys.shape(1), counts.data(), layout(word, shift, mask, keys.shape(1)),
            {}, {}, std::max<int64_t>(k, 1)};
  if (counts.size() != task.n) throw std::invalid_argument("a count per key is needed");
  if (task.n == 0 || axes.empty()) throw std::invalid_argument("items and axes are needed");
  if (task.n > INT32_MAX) throw std::length_error("more than 2,147,483,647 items in one partition");
  if (task.fields.fields != axes.size()) throw std::invalid_argument("a field per axis is needed");
  for (size_t i = 0; i < task.n; ++i)
    if (counts.data()[i] < 1 || counts.data()[i] > UINT32_MAX) throw std::invalid_argument("a count out of range");
  for (const AxisIn& axis : axes) {
    task.axes.push_back(axis_of(axis));
    task.positions.push_back(std::get<0>(axis).data());
  }
  return task;
}

// Calls `find(T{})` with the narrowest type that holds all positions, without the GIL.
template <typename Find> nb::tuple with_narrow_rows(const Task& task, Find find) {
  size_t longest = 0;
  for (const Axis& axis : task.axes) longest = std::max(longest, axis.size);
  Regions regions;
  {
    nb::gil_scoped_release release;
    if (longest <= 1 << 8)
      regions = find(uint8_t{});
    else if (longest <= 1 << 15)
      regions = find(int16_t{});
    else
      regions = find(int32_t{});
  }
  const size_t d = task.axes.size();
  return nb::make_tuple(to_numpy<int32_t>(std::move(regions.part), {task.n}),
                        to_numpy<int32_t>(std::move(regions.low), {regions.count, d}),
                        to_numpy<int32_t>(std::move(regions.high), {regions.count, d}));
}

}  // namespace shoal
