// Which released classes may be which people: a join by containment of points in boxes.
//
// A point has a position on every axis; a box has on every axis a range of positions, or a set that is several ranges.
// The points are halved again and again.  At each half, boxes that miss the bounds of its points are left behind, boxes
// that cover them whole are counted once for all of them, and only the others go on: neither points times boxes nor the
// matching pairs are ever listed whole.  Few points are tested together, a bit for each.  What the boxes hold of sensitive values is added up on the way down and taken back
// on the way up, from a log and not by subtraction, so that no rounding remains.
#include "_shared.hpp"

#include <nanobind/stl/tuple.h>

#include <array>
#include <memory>
#include <numeric>

namespace shoal {
namespace {

using namespace nb::literals;

constexpr size_t kFew = 512;       // so many tests of a point in a box are cheaper than anything else
constexpr size_t kWords = 4;       // of bits, one for each of the points that are tested together
constexpr size_t kTogether = 64 * kWords;
constexpr int64_t kLookedUp = 4096;  // positions of an axis that are looked up; among more, it is searched
constexpr size_t kSample = 4096;   // points and boxes that a cut is chosen by
constexpr size_t kBuckets = 128;   // places of an axis where it may be cut
constexpr int64_t kUneven = 16;    // the smaller side of a cut has at least so great a part, if any has

struct Boxes {
  size_t axes, count;
  std::vector<int32_t> ends;  // per box: its least positions, then its greatest
  const int32_t* set;         // per box and axis: the number of a set, or -1
  const int64_t* begin;       // of the runs of each set
  const int32_t *run_low, *run_high;

  const int32_t* low(size_t box) const { return ends.data() + 2 * axes * box; }
  const int32_t* high(size_t box) const { return low(box) + axes; }

  // How a set lies to a range: -1 apart, 1 covering it, 0 neither is known.
  int within_set(int32_t number, int32_t from, int32_t to) const {
    const int32_t *first = run_high + begin[number], *last = run_high + begin[number + 1];
    const int32_t* at = std::lower_bound(first, last, from);
    if (at == last || run_low[at - run_high] > to) return -1;
    return run_low[at - run_high] <= from && *at >= to ? 1 : 0;
  }

  // The same for a box and the bounds of some points.
  int lies(size_t box, const int32_t* from, const int32_t* to) const {
    const int32_t *least = low(box), *most = high(box), *sets = set + axes * box;
    int found = 1;
    for (size_t a = 0; a < axes; ++a) {
      if (least[a] > to[a] || most[a] < from[a]) return -1;
      if (least[a] > from[a] || most[a] < to[a]) found = 0;
    }
    for (size_t a = 0; a < axes; ++a) {
      if (sets[a] < 0) continue;
      const int one = within_set(sets[a], from[a], to[a]);
      if (one < 0) return -1;
      found = std::min(found, one);
    }
    return found;
  }
};

struct Values {
  const int64_t *rows, *begin;
  const int32_t *value, *attribute;  // of each entry; of each value
  const double* weight;
  size_t count, attributes;
};

// What the boxes counted so far tell of one sensitive attribute.
struct Told {
  int32_t best = -1, distinct = 0;
  double weight = 0, known = 0;
};

class Tally {
 public:
  int64_t rows = 0, boxes = 0;
  std::vector<Told> told;

  explicit Tally(const Values& values)
      : told(values.attributes), values_(values), weight_(values.count, 0.0), holders_(values.count, 0) {}

  void add(size_t box) {
    rows += values_.rows[box];
    ++boxes;
    for (int64_t e = values_.begin[box]; e < values_.begin[box + 1]; ++e) {
      const int32_t v = values_.value[e];
      Told& one = told[values_.attribute[v]];
      log_.push_back({v, weight_[v]});
      if (holders_[v]++ == 0) ++one.distinct;
      weight_[v] += values_.weight[e];
      one.known += values_.weight[e];
      if (weight_[v] > one.weight || (weight_[v] == one.weight && v < one.best)) one.best = v, one.weight = weight_[v];
    }
  }

  struct Mark {
    int64_t rows, boxes;
    size_t logged;
    std::vector<Told> told;
  };

  void mark(Mark& at) const {
    at.rows = rows;
    at.boxes = boxes;
    at.logged = log_.size();
    at.told = told;
  }

  void back_to(const Mark& at) {
    rows = at.rows;
    boxes = at.boxes;
    while (log_.size() > at.logged) {
      weight_[log_.back().first] = log_.back().second;
      --holders_[log_.back().first];
      log_.pop_back();
    }
    told = at.told;
  }

 private:
  const Values& values_;
  std::vector<double> weight_;
  std::vector<int32_t> holders_;
  std::vector<std::pair<int32_t, double>> log_;
};

struct Found {
  std::vector<int64_t> rows, boxes;
  std::vector<int32_t> best, distinct;
  std::vector<double> weight, known;
};

using Bits = std::array<uint64_t, kWords>;

// Which of a few points lie in a range of one axis.
class Ordered {
 public:
  // `at(i)` is the position of point i.
  template <typename At> void set(size_t points, int32_t low, int32_t high, At at) {
    low_ = low;
    sorted_.resize(points);
    for (size_t i = 0; i < points; ++i) sorted_[i] = {at(i), static_cast<uint32_t>(i)};
    std::sort(sorted_.begin(), sorted_.end());
    upto_.assign(points + 1, Bits{});
    for (size_t i = 0; i < points; ++i) {
      upto_[i + 1] = upto_[i];
      upto_[i + 1][sorted_[i].second / 64] |= uint64_t{1} << sorted_[i].second % 64;
    }
    place_.clear();
    if (int64_t{high} - low >= kLookedUp) return;
    place_.resize(high - low + 1);
    size_t place = 0;
    for (size_t p = 0; p < place_.size(); ++p) {
      while (place < points && sorted_[place].first - low <= static_cast<int32_t>(p)) ++place;
      place_[p] = static_cast<uint32_t>(place);
    }
  }

  void keep(Bits& bits, int32_t from, int32_t to) const {
    const Bits &under = upto_[upto(from - 1)], &over = upto_[upto(to)];
    for (size_t w = 0; w < kWords; ++w) bits[w] &= over[w] ^ under[w];
  }

 private:
  int32_t low_ = 0;
  std::vector<std::pair<int32_t, uint32_t>> sorted_;
  std::vector<Bits> upto_;       // of the first so many points in order
  std::vector<uint32_t> place_;  // how many points lie up to each position

  size_t upto(int32_t position) const {
    if (position < low_) return 0;
    if (position >= sorted_.back().first) return sorted_.size();
    if (!place_.empty()) return place_[position - low_];
    const std::pair<int32_t, uint32_t> end{position, UINT32_MAX};
    return std::upper_bound(sorted_.begin(), sorted_.end(), end) - sorted_.begin();
  }
};

struct Cut {
  size_t axis = 0;
  int32_t last = 0;
};

class Join {
 public:
  Join(const Matrix<int32_t>& points, const Boxes& boxes, const Values& values)
      : axes_(boxes.axes), count_(points.shape(0)), points_(points.data(), points.data() + count_ * axes_),
        number_(count_), boxes_(boxes), tally_(values), attributes_(values.attributes), ordered_(axes_) {
    std::iota(number_.begin(), number_.end(), 0u);
    found.rows.resize(count_);
    found.boxes.resize(count_);
    found.best.resize(count_ * attributes_);
    found.distinct.resize(count_ * attributes_);
    found.weight.resize(count_ * attributes_);
    found.known.resize(count_ * attributes_);
  }

  Found found;

  void run() {
    if (count_ == 0) return;
    std::vector<uint32_t> all(boxes_.count);
    std::iota(all.begin(), all.end(), 0u);
    visit(0, count_, all, 0);
  }

 private:
  struct Frame {
    std::vector<uint32_t> left;
    std::vector<int32_t> low, high;
    Tally::Mark mark;
  };

  const size_t axes_, count_;
  std::vector<int32_t> points_;
  std::vector<uint32_t> number_;  // of the point at each place
  const Boxes& boxes_;
  Tally tally_;
  const size_t attributes_;
  std::vector<std::unique_ptr<Frame>> frames_;  // one per depth, kept for the next visit
  Tally::Mark single_;
  std::vector<Ordered> ordered_;
  std::array<std::vector<uint32_t>, kTogether> matches_;

  const int32_t* point(size_t i) const { return points_.data() + i * axes_; }

  void visit(size_t begin, size_t end, const std::vector<uint32_t>& given, size_t depth) {
    if (depth == frames_.size()) frames_.push_back(std::make_unique<Frame>());
    Frame& frame = *frames_[depth];
    bounds(begin, end, frame);
    tally_.mark(frame.mark);
    frame.left.clear();
    for (const uint32_t box : given) {
      const int lies = boxes_.lies(box, frame.low.data(), frame.high.data());
      if (lies > 0) tally_.add(box);
      if (lies == 0) frame.left.push_back(box);
    }
    if (frame.left.empty()) {
      for (size_t i = begin; i < end; ++i) tell(number_[i]);
    } else if ((end - begin) * frame.left.size() <= kFew) {
      for (size_t i = begin; i < end; ++i) one_by_one(i, frame.left);
    } else if (end - begin <= kTogether) {
      together(begin, end, frame);
    } else {
      const Cut cut = choose(begin, end, frame);
      const size_t middle = split(begin, end, cut);
      visit(begin, middle, frame.left, depth + 1);
      visit(middle, end, frame.left, depth + 1);
    }
    tally_.back_to(frame.mark);
  }

  void bounds(size_t begin, size_t end, Frame& frame) const {
    frame.low.assign(point(begin), point(begin) + axes_);
    frame.high = frame.low;
    for (size_t i = begin + 1; i < end; ++i) {
      const int32_t* at = point(i);
      for (size_t a = 0; a < axes_; ++a) {
        frame.low[a] = std::min(frame.low[a], at[a]);
        frame.high[a] = std::max(frame.high[a], at[a]);
      }
    }
  }

  void one_by_one(size_t i, const std::vector<uint32_t>& boxes) {
    tally_.mark(single_);
    for (const uint32_t box : boxes)
      if (boxes_.lies(box, point(i), point(i)) > 0) tally_.add(box);
    tell(number_[i]);
    tally_.back_to(single_);
  }

  void together(size_t begin, size_t end, const Frame& frame) {
    for (size_t a = 0; a < axes_; ++a)
      ordered_[a].set(end - begin, frame.low[a], frame.high[a], [&](size_t i) { return point(begin + i)[a]; });
    for (size_t i = begin; i < end; ++i) matches_[i - begin].clear();
    for (const uint32_t box : frame.left) {
      Bits bits = inside(box);
      for (size_t w = 0; w < kWords; ++w)
        for (; bits[w] != 0; bits[w] &= bits[w] - 1) matches_[64 * w + __builtin_ctzll(bits[w])].push_back(box);
    }
    for (size_t i = begin; i < end; ++i) {
      tally_.mark(single_);
      for (const uint32_t box : matches_[i - begin]) tally_.add(box);
      tell(number_[i]);
      tally_.back_to(single_);
    }
  }

  // Which of the points that are tested together a box covers.
  Bits inside(size_t box) const {
    Bits bits;
    bits.fill(~uint64_t{0});
    for (size_t a = 0; a < axes_; ++a) {
      const int32_t set = boxes_.set[axes_ * box + a];
      if (set < 0) {
        ordered_[a].keep(bits, boxes_.low(box)[a], boxes_.high(box)[a]);
      } else {
        Bits held{};
        for (int64_t run = boxes_.begin[set]; run < boxes_.begin[set + 1]; ++run) {
          Bits one = bits;
          ordered_[a].keep(one, boxes_.run_low[run], boxes_.run_high[run]);
          for (size_t w = 0; w < kWords; ++w) held[w] |= one[w];
        }
        bits = held;
      }
      if (std::all_of(bits.begin(), bits.end(), [](uint64_t word) { return word == 0; })) break;
    }
    return bits;
  }

  void tell(size_t n) {
    found.rows[n] = tally_.rows;
    found.boxes[n] = tally_.boxes;
    for (size_t s = 0; s < attributes_; ++s) {
      const Told& told = tally_.told[s];
      found.best[n * attributes_ + s] = told.best;
      found.distinct[n * attributes_ + s] = told.distinct;
      found.weight[n * attributes_ + s] = told.weight;
      found.known[n * attributes_ + s] = told.known;
    }
  }

  // The cut after which least is left to test, points times boxes on both sides, judged by a sample.
  Cut choose(size_t begin, size_t end, const Frame& frame) const {
    const size_t step = 1 + (end - begin) / kSample, stride = 1 + frame.left.size() / kSample;
    int64_t least = -1;
    bool even = false;
    Cut best;
    for (size_t a = 0; a < axes_; ++a) {
      const int64_t low = frame.low[a], range = frame.high[a] - low + 1;
      if (range < 2) continue;
      if (least < 0) best = {a, static_cast<int32_t>(low + range / 2 - 1)}, least = INT64_MAX;  // parts what lies wide
      const int64_t width = (range + kBuckets - 1) / kBuckets, buckets = (range + width - 1) / width;
      int64_t points[kBuckets] = {}, starts[kBuckets] = {}, ends[kBuckets] = {}, all = 0, boxes = 0;
      for (size_t i = begin; i < end; i += step, ++all) ++points[(point(i)[a] - low) / width];
      for (size_t i = 0; i < frame.left.size(); i += stride, ++boxes) {
        const int64_t from = boxes_.low(frame.left[i])[a], to = boxes_.high(frame.left[i])[a];
        ++starts[(std::max(from, low) - low) / width];
        ++ends[(std::min(to, low + range - 1) - low) / width];
      }
      int64_t left = 0, begun = 0, ended = 0;
      for (int64_t b = 0; b + 1 < buckets; ++b) {
        left += points[b];
        begun += starts[b];
        ended += ends[b];
        if (left == 0 || left == all) continue;
        const bool fair = std::min(left, all - left) * kUneven >= all;
        const int64_t cost = left * begun + (all - left) * (boxes - ended);
        if (std::make_pair(!fair, cost) < std::make_pair(!even, least)) {
          least = cost;
          even = fair;
          best = {a, static_cast<int32_t>(low + (b + 1) * width - 1)};
        }
      }
    }
    return best;
  }

  // Puts the points up to the cut before the others; returns where these begin.
  size_t split(size_t begin, size_t end, const Cut& cut) {
    for (;;) {
      while (begin < end && point(begin)[cut.axis] <= cut.last) ++begin;
      while (begin < end && point(end - 1)[cut.axis] > cut.last) --end;
      if (begin == end) return begin;
      --end;
      std::swap_ranges(points_.begin() + begin * axes_, points_.begin() + (begin + 1) * axes_,
                       points_.begin() + end * axes_);
      std::swap(number_[begin], number_[end]);
      ++begin;
    }
  }
};

void require(bool fits, const char* what) {
  if (!fits) throw std::invalid_argument(what);
}

// Offsets that begin at 0, never fall, and end at the number of what they point into.
void require_offsets(const In<int64_t>& begin, size_t parts, size_t total) {
  require(begin.size() == parts + 1 && begin.data()[0] == 0, "an offset per part and one more is needed");
  for (size_t i = 0; i < parts; ++i) require(begin.data()[i] <= begin.data()[i + 1], "offsets that fall");
  require(static_cast<size_t>(begin.data()[parts]) == total, "offsets that end elsewhere");
}

nb::tuple contained(const Matrix<int32_t>& points, const Matrix<int32_t>& low, const Matrix<int32_t>& high,
                    const Matrix<int32_t>& sets, const In<int64_t>& runs, const In<int32_t>& run_low,
                    const In<int32_t>& run_high, const In<int64_t>& rows, const In<int64_t>& begin,
                    const In<int32_t>& values, const In<double>& weights, const In<int32_t>& attribute,
                    size_t attributes) {
  const size_t d = points.shape(1), n = points.shape(0), m = low.shape(0);
  require(low.shape(1) == d && high.shape(1) == d && sets.shape(1) == d, "points and boxes need the same axes");
  require(high.shape(0) == m && sets.shape(0) == m && rows.size() == m, "uneven boxes");
  require(n <= UINT32_MAX && m <= UINT32_MAX, "too many points or boxes");
  require(runs.size() > 0 && run_low.size() == run_high.size(), "uneven runs");
  require_offsets(runs, runs.size() - 1, run_low.size());
  require_offsets(begin, m, values.size());
  require(weights.size() == values.size(), "a weight per value is needed");
  for (size_t i = 0; i < m * d; ++i)
    require(sets.data()[i] < static_cast<int64_t>(runs.size()) - 1, "a set that is not there");
  for (size_t i = 0; i < values.size(); ++i)
    require(values.data()[i] >= 0 && static_cast<size_t>(values.data()[i]) < attribute.size(), "a value out of range");
  for (size_t i = 0; i < attribute.size(); ++i)
    require(attribute.data()[i] >= 0 && static_cast<size_t>(attribute.data()[i]) < attributes, "no such attribute");
  Found found;
  {
    nb::gil_scoped_release release;
    Boxes boxes{d, m, std::vector<int32_t>(2 * m * d), sets.data(), runs.data(), run_low.data(), run_high.data()};
    for (size_t i = 0; i < m; ++i) {
      std::copy_n(low.data() + i * d, d, boxes.ends.begin() + 2 * d * i);
      std::copy_n(high.data() + i * d, d, boxes.ends.begin() + 2 * d * i + d);
    }
    const Values held{rows.data(),    begin.data(),   values.data(), attribute.data(),
                      weights.data(), attribute.size(), attributes};
    Join join(points, boxes, held);
    join.run();
    found = std::move(join.found);
  }
  return nb::make_tuple(to_numpy<int64_t>(std::move(found.rows), {n}), to_numpy<int64_t>(std::move(found.boxes), {n}),
                        to_numpy<int32_t>(std::move(found.best), {n, attributes}),
                        to_numpy<int32_t>(std::move(found.distinct), {n, attributes}),
                        to_numpy<double>(std::move(found.weight), {n, attributes}),
                        to_numpy<double>(std::move(found.known), {n, attributes}));
}

}  // namespace

void bind_join(nb::module_& m) {
  m.def("contained", &contained, "points"_a.noconvert(), "low"_a.noconvert(), "high"_a.noconvert(),
        "sets"_a.noconvert(), "runs"_a, "run_low"_a.noconvert(), "run_high"_a.noconvert(), "rows"_a, "begin"_a,
        "values"_a.noconvert(), "weights"_a, "attribute"_a.noconvert(), "attributes"_a);
}

}  // namespace shoal
