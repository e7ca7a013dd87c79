// Clusters of points along hierarchies: every cluster has at least so many rows, values that are spread as rules ask,
// and the loss of all is small.
//
// A point is a combination of codes with its number of rows; several points may have the same codes.  A cluster shows each attribute at the lowest
// level at which its points are one group; every row of it pays the loss of these labels.  Clusters are first grown
// cheapest first from the nearest neighbours of each point, then changed again and again: a point moves, a new cluster
// is opened, one is given up.  What a change leaves with too few rows is filled up or given up in turn, and the whole
// chain is kept if it costs less, or not much more while the search is still hot (simulated annealing).
//
// Rules are computed in floats and guide the search only: the models themselves judge what comes out.
#include <nanobind/stl/tuple.h>

#include "_shared.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <queue>
#include <random>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using Table = nb::ndarray<const int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Floats = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Longs = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Ints = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Doubles = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Point = int32_t;
// Form, number, least, limit per value; where the entries of each point begin, their values and counts.
using RuleArrays = std::tuple<int, double, int64_t, Doubles, Longs, Ints, Longs>;

constexpr float kNever = 1e30f;
constexpr int kSmall = 256;        // codes of an attribute that is looked up in a table
constexpr size_t kLeaf = 8;        // points in a leaf of the tree
constexpr size_t kFewPoints = 24;  // clusters of more points are not given up
constexpr double kEasyPoints = 4;  // clusters of more points are opened and given up less often
constexpr size_t kTwins = 3;       // equal points that are found as neighbours; all of them where there are few points
constexpr size_t kFew = 100;
constexpr double kSlack = 1e-9;    // of a comparison in floats
constexpr int64_t kSizes = 64;     // sizes of a set that are tried one by one
constexpr int kNone = -1;

using Tally = std::vector<std::pair<int32_t, int64_t>>;  // how often each value occurs, sorted by value

// How the values of a cluster must be spread.
struct Rule {
  enum Form { kDistinct, kShares, kEntropy, kRecursive, kEqual, kOrdered };
  Form form;
  double number;
  int64_t least;
  std::vector<double> limits;
  std::vector<int64_t> begin;
  std::vector<int32_t> values;
  std::vector<int64_t> counts;

  Rule(const RuleArrays& given, size_t points)
      : form(static_cast<Form>(std::get<0>(given))), number(std::get<1>(given)), least(std::get<2>(given)),
        limits(std::get<3>(given).data(), std::get<3>(given).data() + std::get<3>(given).size()),
        begin(std::get<4>(given).data(), std::get<4>(given).data() + std::get<4>(given).size()),
        values(std::get<5>(given).data(), std::get<5>(given).data() + std::get<5>(given).size()),
        counts(std::get<6>(given).data(), std::get<6>(given).data() + std::get<6>(given).size()) {
    if (form < kDistinct || form > kOrdered) throw std::invalid_argument("no such form of a rule");
    if (begin.size() != points + 1 || begin[0] != 0 || begin[points] != static_cast<int64_t>(values.size()) ||
        values.size() != counts.size() || !std::is_sorted(begin.begin(), begin.end()))
      throw std::invalid_argument("entries that belong to no point");
    for (const int32_t value : values)
      if (value < 0 || static_cast<size_t>(value) >= limits.size())
        throw std::invalid_argument("a value that its rule does not know");
  }

  // n ln n, from a table where n is small.
  static double times_log(int64_t n) {
    static const std::vector<double> known = [] {
      std::vector<double> made(1024);
      for (size_t i = 2; i < made.size(); ++i) made[i] = static_cast<double>(i) * std::log(static_cast<double>(i));
      return made;
    }();
    const auto number = static_cast<double>(n);
    return n < static_cast<int64_t>(known.size()) ? known[static_cast<size_t>(n)] : number * std::log(number);
  }

  // Whether more points never break it.
  bool lasting() const { return form == kDistinct; }

  // Whether some of these values, `rows` of them or more, may keep it; more values never change that.  Where it says
  // no, none can.
  bool possible(const Tally& tally, int64_t rows) const {
    double total = 0;
    for (const auto& entry : tally) total += static_cast<double>(entry.second);
    const auto size = static_cast<double>(rows);
    if (total < size) return false;
    if (form == kShares) return possible_shares(tally, rows, static_cast<int64_t>(total));
    if (form == kRecursive) return possible_recursive(tally, rows);
    if (form == kEntropy) return spread_of(tally, size) >= std::log(number) - kSlack;
    if (form == kEqual) {  // a value of more rows than there are is as far as what it lacks, the more so in a larger set
      double near = 0;
      for (const auto& [value, count] : tally) near += std::min(limits[value], static_cast<double>(count) / size);
      return 1 - near <= number + kSlack;
    }
    return excess(tally) <= 0;
  }

  bool possible_shares(const Tally& tally, int64_t rows, int64_t total) const {
    // what values may fill of a set of `size` rows, whole rows or not, without the size itself
    const auto beyond = [&](int64_t size, bool whole) {
      double sum = -static_cast<double>(size);
      for (const auto& [value, count] : tally) {
        const double most = (limits[value] + kSlack) * static_cast<double>(size) + kSlack;
        sum += std::min(static_cast<double>(count), whole ? std::floor(most) : most);
      }
      return sum;
    };
    const int64_t last = std::min(total, rows + kSizes);
    for (int64_t size = rows; size <= last; ++size)
      if (beyond(size, true) >= 0) return true;
    // not of whole rows it is concave and 0 at 0: where a larger set is possible, so is every smaller one
    return total > last && beyond(last + 1, false) >= 0;
  }

  // Of a set whose first count is t, the others are best at up to t: the largest t that keeps the rule gives the most rows.
  bool possible_recursive(const Tally& tally, int64_t rows) const {
    std::vector<int64_t> counted;
    for (const auto& entry : tally) counted.push_back(entry.second);
    std::sort(counted.begin(), counted.end(), std::greater<>());
    if (static_cast<int64_t>(counted.size()) < least) return false;
    const auto sum_from = [&](size_t from, int64_t most) {
      int64_t sum = 0;
      for (size_t i = from; i < counted.size(); ++i) sum += std::min(counted[i], most);
      return sum;
    };
    // number * rest - t is concave in t and 0 at 0, so that the t that keep it run from 1 to the largest
    const auto keeps = [&](int64_t most) {
      return static_cast<double>(most) < number * static_cast<double>(sum_from(static_cast<size_t>(least) - 1, most));
    };
    if (!keeps(1)) return false;
    int64_t low = 1, high = counted[0];
    while (low < high) {
      const int64_t middle = low + (high - low + 1) / 2;
      if (keeps(middle)) low = middle; else high = middle - 1;
    }
    return sum_from(0, low) >= rows;
  }

  // The entropy of the most even choice of `size` of these values; a larger choice is less even.
  static double spread_of(const Tally& tally, double size) {
    std::vector<double> counted;
    for (const auto& entry : tally) counted.push_back(static_cast<double>(entry.second));
    std::sort(counted.begin(), counted.end());
    double left = size, entropy = 0;
    for (size_t i = 0; i < counted.size(); ++i) {  // the rarest first: all of it, or an even share of what is left
      const double taken = std::min(counted[i], left / static_cast<double>(counted.size() - i));
      left -= taken;
      if (taken > 0) entropy -= taken / size * std::log(taken / size);
    }
    return entropy;
  }

  void add(Tally& tally, Point p, int64_t times = 1) const {
    for (int64_t at = begin[p]; at < begin[p + 1]; ++at) {
      const auto place = std::lower_bound(tally.begin(), tally.end(), std::pair<int32_t, int64_t>{values[at], INT64_MIN});
      if (place == tally.end() || place->first != values[at]) {
        tally.insert(place, {values[at], times * counts[at]});
      } else {
        place->second += times * counts[at];
        if (place->second == 0) tally.erase(place);
      }
    }
  }

  // By how much the values miss the rule; 0 where they keep it.  What the number counts depends on the form.
  double excess(const Tally& tally) const {
    double total = 0;
    for (const auto& entry : tally) total += static_cast<double>(entry.second);
    const auto distinct = static_cast<int64_t>(tally.size());
    double missed = 0;
    if (form == kDistinct) {
      missed = static_cast<double>(least - distinct);
    } else if (form == kShares) {
      for (const auto& [value, count] : tally)
        missed += std::max(static_cast<double>(count) - limits[value] * total - kSlack * total, 0.0);
    } else if (form == kEntropy) {
      double sum = 0;
      for (const auto& entry : tally) sum += times_log(entry.second);
      missed = std::log(number) - (total > 0 ? std::log(total) - sum / total : -1);
    } else if (form == kRecursive) {
      std::vector<int64_t> counted;
      for (const auto& entry : tally) counted.push_back(entry.second);
      std::sort(counted.begin(), counted.end(), std::greater<>());
      double rest = 0;
      for (size_t i = static_cast<size_t>(least) - 1; i < counted.size(); ++i) rest += static_cast<double>(counted[i]);
      const double first = counted.empty() ? 0 : static_cast<double>(counted[0]);
      const double over = first - number * rest + kSlack;  // the first must be less
      missed = static_cast<double>(std::max<int64_t>(least - distinct, 0)) + (over > 0 ? over + 1e-3 : 0) / (total + 1);
    } else if (total > 0 && form == kEqual) {
      double apart = 1;
      const double share = 1 / total;
      for (const auto& [value, count] : tally)
        apart += std::abs(static_cast<double>(count) * share - limits[value]) - limits[value];
      missed = apart / 2 - number;
    } else if (total > 0) {
      double apart = 0, ahead = 0;
      auto entry = tally.begin();
      for (size_t value = 0; value + 1 < limits.size(); ++value) {
        if (entry != tally.end() && entry->first == static_cast<int32_t>(value))
          ahead += static_cast<double>((entry++)->second) / total;
        ahead -= limits[value];
        apart += std::abs(ahead);
      }
      missed = apart / static_cast<double>(std::max<size_t>(limits.size() - 1, 1)) - number;
    }
    return missed <= kSlack ? 0 : missed;
  }
};

// One attribute: groups and losses per code and level.
struct Hierarchy {
  int size, levels;
  std::vector<int32_t> groups;
  std::vector<float> losses;
  std::vector<double> given;  // losses as they were given: what is proved is summed of these

  Hierarchy(const Table& g, const Floats& l)
      : size(static_cast<int>(g.shape(0))), levels(static_cast<int>(g.shape(1))), groups(g.data(), g.data() + g.size()),
        losses(l.data(), l.data() + l.size()), given(l.data(), l.data() + l.size()) {
    if (l.shape(0) != g.shape(0) || l.shape(1) != g.shape(1) || levels == 0 || levels > 255)
      throw std::invalid_argument("a loss per code and level is needed");
    for (const int32_t group : groups)
      if (group < 0 || group >= size) throw std::invalid_argument("more groups than codes");
    for (int code = 1; code < size; ++code)
      if (group(code, levels - 1) != group(0, levels - 1)) throw std::invalid_argument("a hierarchy without a top");
  }

  int32_t group(int code, int level) const { return groups[static_cast<size_t>(code) * levels + level]; }
  float loss(int code, int level) const { return losses[static_cast<size_t>(code) * levels + level]; }

  double given_loss(int code, int level) const { return given[static_cast<size_t>(code) * levels + level]; }

  // The lowest level, from a given one up, at which both are one group.
  int meet(int a, int b, int level = 0) const {
    while (group(a, level) != group(b, level)) ++level;
    return level;
  }
};

struct Points {
  size_t count, width;
  std::vector<int32_t> codes;
  std::vector<int64_t> rows;
  std::vector<Hierarchy> hierarchies;
  // For the first attributes, those of few codes: what a label costs once it is widened to cover a code, in one row of
  // numbers per label; `row` says for each code and level where its label's row begins.
  size_t tabled = 0;
  std::vector<float> widened;
  std::vector<std::vector<uint32_t>> row;

  const int32_t* operator[](Point p) const { return codes.data() + p * width; }

  void tabulate() {
    while (tabled < width && hierarchies[tabled].size <= kSmall) {
      const Hierarchy& h = hierarchies[tabled++];
      std::vector<uint32_t>& rows_of = row.emplace_back(h.groups.size());
      for (int level = 0; level < h.levels; ++level) {
        std::vector<uint32_t> begin(h.size, 0);  // per group; 0: not yet
        for (int code = 0; code < h.size; ++code) {
          uint32_t& at = begin[h.group(code, level)];
          if (at == 0) {
            at = static_cast<uint32_t>(widened.size()) + 1;
            for (int other = 0; other < h.size; ++other) widened.push_back(h.loss(code, h.meet(code, other, level)));
          }
          rows_of[static_cast<size_t>(code) * h.levels + level] = at - 1;
        }
      }
    }
  }

  float distance(Point p, Point q) const {
    const int32_t *a = (*this)[p], *b = (*this)[q];
    float sum = 0;
    for (size_t i = 0; i < tabled; ++i) {
      const size_t leaf = static_cast<size_t>(a[i]) * hierarchies[i].levels;
      sum += widened[row[i][leaf] + b[i]];
    }
    for (size_t i = tabled; i < width; ++i) sum += hierarchies[i].loss(a[i], hierarchies[i].meet(a[i], b[i]));
    return sum;
  }
};

Points read_points(const Table& codes, const Longs& rows, const std::vector<Table>& groups,
                   const std::vector<Floats>& losses) {
  Points points;
  points.count = codes.shape(0), points.width = codes.shape(1);
  if (groups.size() != points.width || losses.size() != points.width || rows.size() != points.count)
    throw std::invalid_argument("a hierarchy per attribute and a count per point are needed");
  points.codes.assign(codes.data(), codes.data() + codes.size());
  points.rows.assign(rows.data(), rows.data() + rows.size());
  for (size_t i = 0; i < points.width; ++i) points.hierarchies.emplace_back(groups[i], losses[i]);
  for (size_t at = 0; at < points.codes.size(); ++at)
    if (points.codes[at] < 0 || points.codes[at] >= points.hierarchies[at % points.width].size)
      throw std::invalid_argument("a code that its hierarchy does not know");
  points.tabulate();
  return points;
}

// Nearest neighbours.  A tree splits the points along the children of one label at a time, the dearest label first.
// The distance to all points of a subtree is at least what its labels cost together with the point: most are skipped.
class Neighbours {
 public:
  Neighbours(const Points& points, std::vector<Point> some) : points_(points), order_(std::move(some)) {
    std::vector<int> levels;
    for (const auto& h : points.hierarchies) levels.push_back(h.levels - 1);
    if (!order_.empty()) build(0, order_.size(), levels);
  }

  // The nearest `most`, as far as `visits` looks find them, nearest first.
  const std::vector<std::pair<float, Point>>& of(Point p, size_t most, int visits) {
    p_ = p, most_ = most, visits_ = visits, missed_ = kNever;
    found_.clear();
    paid_.assign(points_.width, 0);
    if (!nodes_.empty()) visit(0, 0);
    std::sort(found_.begin(), found_.end());
    return found_;
  }

  // A lower bound of the distance of all that the last call did not find.
  float missed() const { return found_.size() < most_ ? missed_ : std::min(missed_, found_.back().first); }

 private:
  struct Node {
    size_t from, to;
    int attribute = kNone, level = 0;
    std::vector<size_t> children{};
  };
  const Points& points_;
  std::vector<Point> order_;
  std::vector<Node> nodes_;
  std::vector<std::pair<float, Point>> found_;  // a heap, the farthest first
  std::vector<float> paid_;
  Point p_ = 0;
  size_t most_ = 0;
  int visits_ = 0;
  float missed_ = kNever;

  int32_t group(Point p, int i, int level) const { return points_.hierarchies[i].group(points_[p][i], level); }

  size_t build(size_t from, size_t to, std::vector<int> levels) {
    const size_t id = nodes_.size();
    nodes_.push_back({from, to});
    if (to - from <= kLeaf) return id;
    int best = kNone;
    float dearest = -1;
    for (size_t i = 0; i < levels.size(); ++i) {
      const auto together = [&](Point p) {
        return group(p, i, levels[i] - 1) == group(order_[from], i, levels[i] - 1);
      };
      while (levels[i] > 0 && std::all_of(order_.begin() + from, order_.begin() + to, together)) --levels[i];
      const float loss = points_.hierarchies[i].loss(points_[order_[from]][i], levels[i]);
      if (levels[i] > 0 && loss > dearest) dearest = loss, best = static_cast<int>(i);
    }
    if (best == kNone) return id;
    const int level = --levels[best];
    const auto key = [&](Point p) { return group(p, best, level); };
    std::stable_sort(order_.begin() + from, order_.begin() + to, [&](Point p, Point q) { return key(p) < key(q); });
    nodes_[id].attribute = best, nodes_[id].level = level;
    for (size_t at = from, end; at < to; at = end) {
      for (end = at; end < to && key(order_[end]) == key(order_[at]);) ++end;
      const size_t child = build(at, end, levels);
      nodes_[id].children.push_back(child);
    }
    return id;
  }

  void visit(size_t id, float least) {
    const Node& node = nodes_[id];
    if (node.attribute == kNone) {
      for (size_t at = node.from; at < node.to; ++at) look(order_[at]);
      return;
    }
    const int i = node.attribute;
    const auto first = [&](size_t child) { return order_[nodes_[child].from]; };
    size_t own = 0;  // the root is nobody's child
    for (size_t child : node.children)
      if (group(first(child), i, node.level) == group(p_, i, node.level)) own = child;
    if (own) visit(own, least);
    const float before = paid_[i];
    const Hierarchy& hierarchy = points_.hierarchies[i];
    for (size_t child : node.children) {
      if (child == own) continue;
      const int code = points_[p_][i];
      paid_[i] = std::max(before, hierarchy.loss(code, hierarchy.meet(code, points_[first(child)][i])));
      if (visits_ <= 0) {
        missed_ = std::min(missed_, least - before + paid_[i]);
        continue;
      }
      if (found_.size() < most_ || least - before + paid_[i] < found_[0].first) visit(child, least - before + paid_[i]);
    }
    paid_[i] = before;
  }

  void look(Point q) {
    if (q == p_) return;
    --visits_;
    const std::pair<float, Point> seen{points_.distance(p_, q), q};
    if (found_.size() < most_) {
      found_.push_back(seen);
      std::push_heap(found_.begin(), found_.end());
    } else if (seen < found_[0]) {
      std::pop_heap(found_.begin(), found_.end());
      found_.back() = seen;
      std::push_heap(found_.begin(), found_.end());
    }
  }
};

struct Cluster {
  std::vector<Point> points;
  std::vector<uint8_t> levels;
  std::vector<uint32_t> row;  // of its labels in Points::widened
  std::vector<Tally> tallies;  // per rule
  int64_t rows = 0;
  float cost = 0;               // of one row
  mutable double excess = -1;  // of all rules; below 0 where it is not known

  double total() const { return static_cast<double>(cost) * static_cast<double>(rows); }
};

class Clusters {
 public:
  Clusters(const Table& codes, const Longs& rows, const std::vector<Table>& groups, const std::vector<Floats>& losses,
           int64_t least, const std::vector<RuleArrays>& rules, size_t nearest, int visits, uint64_t seed)
      : points_(read_points(codes, rows, groups, losses)), least_(least), nearest_(nearest), visits_(visits),
        random_(seed) {
    for (const RuleArrays& rule : rules) rules_.emplace_back(rule, points_.count);
    lasting_ = std::all_of(rules_.begin(), rules_.end(), [](const Rule& rule) { return rule.lasting(); });
    lends_ = points_.count <= kFew && std::accumulate(points_.rows.begin(), points_.rows.end(), int64_t{0}) > int64_t{kFew};
    nb::gil_scoped_release release;
    grow_all();
    look_around();
  }

  // Tries to change something about every point once, `heat` falling evenly from one value to another.
  void improve(double from, double to) {
    nb::gil_scoped_release release;
    std::vector<Point> seeds(points_.count);
    std::iota(seeds.begin(), seeds.end(), 0);
    for (size_t at = seeds.size(); at > 1; --at) std::swap(seeds[at - 1], seeds[random_() % at]);
    // rules may ask for large clusters, and to open or to give up one takes the longer, the larger they are
    const double points_each = static_cast<double>(points_.count) / static_cast<double>(all_.size() - empty_.size());
    const double often = rules_.empty() ? 1 : kEasyPoints / points_each;
    for (size_t at = 0; at < seeds.size(); ++at) {
      heat_ = from + (to - from) * static_cast<double>(at) / static_cast<double>(seeds.size());
      attempt(&Clusters::relocate, seeds[at]);
      if (uniform() >= often) continue;
      attempt(&Clusters::open, seeds[at]);
      attempt(&Clusters::give_up, seeds[at]);
    }
  }

  nb::object clusters() const {
    auto* kept = new std::vector<int32_t>(of_);
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<int32_t>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, int32_t, nb::ndim<1>>(kept->data(), {kept->size()}, owner));
  }

 private:
  using Change = bool (Clusters::*)(Point);
  Points points_;
  int64_t least_;
  std::vector<Rule> rules_;
  bool lasting_ = true;
  bool lends_ = false;  // few points of many rows
  mutable Tally scratch_;
  size_t nearest_;
  int visits_;
  std::mt19937_64 random_;
  std::vector<std::vector<Point>> near_;
  std::vector<Cluster> all_;
  std::vector<int32_t> of_;     // the cluster of each point
  std::vector<int32_t> empty_;  // clusters that were given up
  std::vector<std::pair<int32_t, Cluster>> saved_;  // what the attempt has changed, as it was
  size_t saves_ = 0;
  std::vector<uint64_t> touched_;
  uint64_t attempts_ = 0;
  std::vector<Point> rest_;
  double delta_ = 0, allowed_ = 0, heat_ = 0;

  double uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

  // What a row of the cluster costs once the point is in it; gives up above `limit`.
  float joined(const Cluster& cluster, Point p, float limit = kNever) const {
    const int32_t* b = points_[p];
    const uint32_t* row = cluster.row.data();
    const float* widened = points_.widened.data();
    const size_t tabled = points_.tabled;
    float sum = 0;
    for (size_t i = 0; i < tabled; ++i) {
      sum += widened[row[i] + b[i]];
      if (sum > limit) return kNever;
    }
    const int32_t* a = points_[cluster.points[0]];
    for (size_t i = tabled; i < points_.width; ++i) {
      const Hierarchy& h = points_.hierarchies[i];
      sum += h.loss(a[i], h.meet(a[i], b[i], cluster.levels[i]));
      if (sum > limit) return kNever;
    }
    return sum;
  }

  void empty(Cluster& cluster) const {
    cluster.points.clear();
    cluster.levels.assign(points_.width, 0);
    cluster.row.assign(points_.tabled, 0);
    cluster.tallies.resize(rules_.size());
    for (Tally& tally : cluster.tallies) tally.clear();
    cluster.rows = 0;
    cluster.cost = 0;
    cluster.excess = -1;
  }

  void add(Cluster& cluster, Point p) const {
    cluster.points.push_back(p);
    cluster.rows += points_.rows[p];
    for (size_t r = 0; r < rules_.size(); ++r) rules_[r].add(cluster.tallies[r], p);
    cluster.excess = -1;
    const int32_t *a = points_[cluster.points[0]], *b = points_[p];
    cluster.cost = 0;
    for (size_t i = 0; i < points_.width; ++i) {
      const Hierarchy& h = points_.hierarchies[i];
      cluster.levels[i] = static_cast<uint8_t>(h.meet(a[i], b[i], cluster.levels[i]));
      cluster.cost += h.loss(a[i], cluster.levels[i]);
      if (i < points_.tabled) cluster.row[i] = points_.row[i][static_cast<size_t>(a[i]) * h.levels + cluster.levels[i]];
    }
  }

  // By how much a cluster misses the rules.
  double excess(const Cluster& cluster) const {
    if (cluster.excess >= 0) return cluster.excess;
    cluster.excess = 0;
    for (size_t r = 0; r < rules_.size(); ++r) cluster.excess += rules_[r].excess(cluster.tallies[r]);
    return cluster.excess;
  }

  // The same once a point is in it, or with `times` = -1 no longer in it.
  double excess(const Cluster& cluster, Point p, int64_t times = 1) const {
    double sum = 0;
    for (size_t r = 0; r < rules_.size(); ++r) {
      scratch_ = cluster.tallies[r];
      rules_[r].add(scratch_, p, times);
      sum += rules_[r].excess(scratch_);
    }
    return sum;
  }

  bool complete(const Cluster& cluster) const { return cluster.rows >= least_ && excess(cluster) == 0; }

  // Whether a complete cluster stays so with one more point.
  bool bears(const Cluster& cluster, Point p) const { return lasting_ || excess(cluster, p) == 0; }

  // Whether a point brings a cluster that misses rules nearer to them; one that misses none takes any point.
  bool helps(const Cluster& cluster, Point p) const {
    return rules_.empty() || excess(cluster) == 0 || excess(cluster, p) < excess(cluster) - kSlack;
  }

  // The first clusters: grown around every point, and the cheapest is kept, until no neighbours are left to grow from.
  void grow_all() {
    of_.assign(points_.count, kNone);
    std::vector<Point> open(points_.count);
    std::iota(open.begin(), open.end(), 0);
    near_.resize(points_.count);
    for (size_t clusters = 1; clusters > 0 && !open.empty();) {
      look_near(open, nearest_);
      std::priority_queue<std::pair<float, Point>, std::vector<std::pair<float, Point>>, std::greater<>> queue;
      Cluster grown;
      clusters = all_.size();
      for (const Point p : open)
        if (grow(p, grown)) queue.push({grown.cost, p});
      while (!queue.empty()) {
        const auto [cost, p] = queue.top();
        queue.pop();
        if (of_[p] != kNone || !grow(p, grown)) continue;
        if (grown.cost > cost) {
          queue.push({grown.cost, p});
          continue;
        }
        for (const Point q : grown.points) of_[q] = static_cast<int32_t>(all_.size());
        all_.push_back(grown);
      }
      clusters = all_.size() - clusters;
      open.erase(std::remove_if(open.begin(), open.end(), [&](Point p) { return of_[p] != kNone; }), open.end());
    }
    if (all_.empty()) empty(all_.emplace_back());
    for (const Point p : open) join_any(p);
    touched_.assign(all_.size(), 0);
  }

  // A cluster of the point and its nearest that are still open, with all others that its labels cover.
  bool grow(Point p, Cluster& grown) const {
    empty(grown);
    add(grown, p);
    std::vector<Point> open;
    for (const Point q : near_[p])
      if (of_[q] == kNone) open.push_back(q);
    while (!complete(grown)) {
      float best = kNever;
      size_t which = 0;
      for (size_t j = 0; j < open.size(); ++j) {
        const float cost = joined(grown, open[j], best);
        if (cost < best && helps(grown, open[j])) best = cost, which = j;
      }
      if (best == kNever) return false;
      add(grown, open[which]);
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(which));
    }
    const float cost = grown.cost;
    for (const Point q : open)
      if (joined(grown, q, cost) <= cost && bears(grown, q)) add(grown, q);
    return true;
  }

  // Few are left: into whatever cluster costs least to widen.
  void join_any(Point p) {
    double best = kNever;
    size_t which = all_.size();
    for (const bool careful : {true, false}) {  // first only where nothing breaks
      if (which < all_.size()) break;
      for (size_t c = 0; c < all_.size(); ++c) {
        const double more = all_[c].points.empty() ? 0 : widening(all_[c], p, best);
        if (more < best && (!careful || bears(all_[c], p))) best = more, which = c;
      }
    }
    add(all_[which], p);
    of_[p] = static_cast<int32_t>(which);
  }

  double widening(const Cluster& cluster, Point p, double limit) const {
    const auto rows = static_cast<double>(cluster.rows + points_.rows[p]);
    const auto most = static_cast<float>((limit + cluster.total()) / rows);
    return static_cast<double>(joined(cluster, p, most)) * rows - cluster.total();
  }

  bool twins(Point p, Point q) const {
    if (points_.rows[p] != points_.rows[q] || !std::equal(points_[p], points_[p] + points_.width, points_[q]))
      return false;
    return std::all_of(rules_.begin(), rules_.end(), [&](const Rule& rule) {
      const auto from = rule.begin[p], to = rule.begin[p + 1], other = rule.begin[q];
      return to - from == rule.begin[q + 1] - other &&
             std::equal(rule.values.begin() + from, rule.values.begin() + to, rule.values.begin() + other) &&
             std::equal(rule.counts.begin() + from, rule.counts.begin() + to, rule.counts.begin() + other);
    });
  }

  // Equal points lie next to each other; only a few of them are found, or they would crowd out all others.
  std::vector<Point> without_twins(const std::vector<Point>& some) const {
    if (points_.count <= kFew) return some;
    std::vector<Point> found;
    size_t alike = 0;
    for (size_t at = 0; at < some.size(); ++at) {
      alike = at > 0 && twins(some[at - 1], some[at]) ? alike + 1 : 0;
      if (alike < kTwins) found.push_back(some[at]);
    }
    return found;
  }

  void look_near(const std::vector<Point>& some, size_t most) {
    Neighbours neighbours(points_, without_twins(some));
    for (const Point p : some) {
      auto& near = near_[p];
      for (const auto& [distance, q] : neighbours.of(p, most, visits_))
        if (std::find(near.begin(), near.end(), q) == near.end()) near.push_back(q);
    }
  }

  // Points that are dear get neighbours among their like, too: they may share a cluster that the nearest are not in.
  void look_around() {
    std::vector<Point> dear(points_.count);
    std::iota(dear.begin(), dear.end(), 0);
    std::stable_sort(dear.begin(), dear.end(), [&](Point p, Point q) { return all_[of_[p]].cost > all_[of_[q]].cost; });
    for (const size_t share : {3, 9, 27}) {
      dear.resize(points_.count / share);
      look_near(dear, nearest_);
    }
  }

  // A change is tried on the clusters themselves and undone if it does not pay.
  void attempt(Change change, Point p) {
    ++attempts_;
    saves_ = 0;
    delta_ = 0;
    allowed_ = heat_ > 0 ? -heat_ * std::log(1 - uniform()) : 0;
    const bool kept = (this->*change)(p) && repair() && delta_ < allowed_ - 1e-6;
    if (!kept) return undo();
    for (size_t s = 0; s < saves_; ++s)
      if (all_[saved_[s].first].points.empty() != saved_[s].second.points.empty()) {
        if (all_[saved_[s].first].points.empty()) empty_.push_back(saved_[s].first);
        else empty_.erase(std::find(empty_.begin(), empty_.end(), saved_[s].first));
      }
  }

  void undo() {
    for (size_t s = 0; s < saves_; ++s) {
      auto& [c, was] = saved_[s];
      std::swap(all_[c], was);
      for (const Point p : all_[c].points) of_[p] = c;
    }
  }

  void save(int32_t c) {
    if (touched_[c] == attempts_) return;
    touched_[c] = attempts_;
    if (saves_ == saved_.size()) saved_.emplace_back();
    saved_[saves_].first = c;
    saved_[saves_++].second = all_[c];
  }

  void take(Point p) {
    const int32_t c = of_[p];
    save(c);
    Cluster& cluster = all_[c];
    delta_ -= cluster.total();
    rest_.swap(cluster.points);
    empty(cluster);
    for (const Point q : rest_)
      if (q != p) add(cluster, q);
    delta_ += cluster.total();
    of_[p] = kNone;
  }

  void put(Point p, int32_t c) {
    save(c);
    delta_ -= all_[c].total();
    add(all_[c], p);
    delta_ += all_[c].total();
    of_[p] = c;
  }

  bool spare(Point p) const {
    const Cluster& cluster = all_[of_[p]];
    return cluster.rows - points_.rows[p] >= least_ && (rules_.empty() || excess(cluster, p, -1) == 0);
  }

  // The cluster of a neighbour that costs least to widen; not one that is itself too small, nor `except`.
  std::pair<double, int32_t> cheapest(Point p, int32_t except) const {
    double best = kNever;
    int32_t which = kNone, last = kNone;
    for (const Point q : near_[p]) {
      const int32_t c = of_[q];
      if (c == kNone || c == last || c == except || !complete(all_[c])) continue;
      last = c;
      const double more = widening(all_[c], p, best);
      if (more < best && bears(all_[c], p)) best = more, which = c;
    }
    return {best, which};
  }

  bool relocate(Point p) {
    const auto [more, c] = cheapest(p, of_[p]);
    if (c == kNone || more - all_[of_[p]].total() >= allowed_) return false;
    take(p);
    put(p, c);
    return true;
  }

  // A new cluster of the point and neighbours; how much it counts that these are dear or missed elsewhere is drawn.
  bool open(Point p) {
    if (empty_.empty()) {
      empty_.push_back(static_cast<int32_t>(all_.size()));
      empty(all_.emplace_back());
      touched_.push_back(0);
    }
    const int32_t c = empty_.back();
    const double dear = 1.5 * uniform(), missed = 0.1 * uniform(), broken = 0.1 * uniform();
    take(p);
    put(p, c);
    while (!complete(all_[c])) {
      double best = kNever;
      Point which = kNone;
      for (const Point q : near_[p]) {
        if (of_[q] == c) continue;
        const Cluster& giver = all_[of_[q]];
        const double bonus = dear * giver.cost * static_cast<double>(points_.rows[q]) +
                             (!complete(giver) ? broken : giver.rows - points_.rows[q] >= least_ ? 0 : -missed);
        const double value = widening(all_[c], q, best + bonus) - bonus;
        if (value < best && helps(all_[c], q)) best = value, which = q;
      }
      if (which == kNone) return false;
      take(which);
      put(which, c);
    }
    return true;
  }

  bool give_up(Point p) {
    const int32_t c = of_[p];
    return all_[c].points.size() <= kFewPoints && disperse(c);
  }

  // Every cluster that has become too small is filled up or given up, whichever seems to cost less.
  bool repair() {
    for (size_t s = 0; s < saves_; ++s) {  // more are saved meanwhile
      const int32_t c = saved_[s].first;
      while (!all_[c].points.empty() && !complete(all_[c]))
        if (!fill(c) && !disperse(c)) return false;
    }
    return true;
  }

  // Takes a point that another cluster can spare and that helps to complete this one, if that seems to cost less than to disperse.
  // Where no point is enough, a few heavy ones that lose nothing are lent one after another, the cheapest first.
  bool fill(int32_t c) {
    double best = allowed_ - delta_, least_each = kNever;
    Point which = kNone, some = kNone;
    const int64_t lack = least_ - all_[c].rows;
    for (const Point p : all_[c].points)
      for (const Point q : near_[p]) {
        const Cluster& giver = all_[of_[q]];
        if (of_[q] == c || giver.rows - points_.rows[q] < least_) continue;
        if (points_.rows[q] < lack) {
          if (!lends_ || which != kNone || giver.cost > 0) continue;
          const auto rows = static_cast<double>(points_.rows[q]);
          const double each = widening(all_[c], q, std::min(best, least_each * rows)) / rows;
          if (each < least_each && each * rows < best && helps(all_[c], q) && spare(q)) least_each = each, some = q;
          continue;
        }
        const double saving = static_cast<double>(giver.cost) * static_cast<double>(points_.rows[q]);
        const double more = widening(all_[c], q, best + saving) - saving;
        if (more < best && helps(all_[c], q) && spare(q)) best = more, which = q;
      }
    if (which == kNone && some != kNone) which = some, best = least_each * static_cast<double>(lack);
    if (which == kNone) return false;
    double apart = -all_[c].total();
    for (const Point p : all_[c].points)
      if (apart < best) apart += cheapest(p, c).first;
    if (apart < best) return false;
    take(which);
    put(which, c);
    return true;
  }

  // Every point of the cluster moves to another.
  bool disperse(int32_t c) {
    save(c);
    delta_ -= all_[c].total();
    const std::vector<Point> loose = all_[c].points;
    empty(all_[c]);
    for (const Point p : loose) of_[p] = kNone;
    for (const Point p : loose) {
      const auto [more, into] = cheapest(p, c);
      if (into == kNone || delta_ + more >= allowed_) return false;
      put(p, into);
    }
    return true;
  }
};

// The least that a row can cost, whatever class it is in: of all sets of points that hold its point, have enough rows
// and enough different values, the one whose labels cost least.
class CheapestSets {
 public:
  CheapestSets(const Points& points, int64_t least, const std::vector<Rule>& rules)
      : points_(points), least_(least), rules_(rules), tallies_(rules.size()) {}

  // A lower bound of that cost; at least `cost` if no cheaper set exists.
  double bound(Neighbours& neighbours, Point p, double cost) {
    const double limit = cost * (1 - kExact);  // sums of doubles that differ by less are equal
    if (limit <= 0) return 0;
    const auto& near = neighbours.of(p, kMembers, kLooks);
    const size_t width = points_.width;
    // the level at which each neighbour meets the point; the first is the point itself
    members_.assign(1, p);
    for (const auto& [distance, q] : near) members_.push_back(q);
    meets_.assign(members_.size() * width, 0);
    for (size_t m = 1; m < members_.size(); ++m)
      for (size_t i = 0; i < width; ++i)
        meets_[m * width + i] = static_cast<uint8_t>(points_.hierarchies[i].meet(points_[p][i], points_[members_[m]][i]));
    best_ = std::min(limit, static_cast<double>(neighbours.missed()) - kRounding);
    steps_ = points_.count <= kFew ? kManySteps : kSteps;
    levels_.assign(width, 0);
    widen(1);
    if (steps_ <= 0) best_ = std::min(best_, farthest_needed(near));
    return best_ >= limit ? cost : std::max(best_, 0.0);
  }

 private:
  static constexpr size_t kMembers = 20;
  static constexpr int kLooks = 150;
  static constexpr int kSteps = 300, kManySteps = 10'000;  // where there are few points
  static constexpr double kExact = 1e-12;     // of a sum of doubles, relative to it
  static constexpr double kRounding = 1e-6;   // of the distance of a neighbour, a sum of floats
  const Points& points_;
  int64_t least_;
  const std::vector<Rule>& rules_;
  std::vector<Tally> tallies_;
  std::vector<Point> members_;
  std::vector<uint8_t> meets_, levels_;
  double best_ = 0;
  int steps_ = 0;

  bool covered(size_t m) const {
    for (size_t i = 0; i < points_.width; ++i)
      if (meets_[m * points_.width + i] > levels_[i]) return false;
    return true;
  }

  double cost() const {
    double sum = 0;
    for (size_t i = 0; i < points_.width; ++i) sum += points_.hierarchies[i].given_loss(points_[members_[0]][i], levels_[i]);
    return sum;
  }

  // Whether the members that `chosen` says are enough.
  template <typename Chosen> bool enough(Chosen chosen) {
    int64_t rows = 0;
    for (Tally& tally : tallies_) tally.clear();
    for (size_t m = 0; m < members_.size(); ++m) {
      if (!chosen(m)) continue;
      rows += points_.rows[members_[m]];
      for (size_t r = 0; r < rules_.size(); ++r) rules_[r].add(tallies_[r], members_[m]);
    }
    for (size_t r = 0; r < rules_.size(); ++r)
      if (!rules_[r].possible(tallies_[r], rules_[r].lasting() ? 0 : least_)) return false;
    return rows >= least_;
  }

  // Tries every way to cover one more member, from one on, as long as the labels cost less than the best.
  void widen(size_t from) {
    if (--steps_ <= 0) return;
    const double now = cost();
    if (now >= best_) return;
    if (enough([&](size_t m) { return covered(m); })) {
      best_ = now;
      return;
    }
    for (size_t m = from; m < members_.size() && steps_ > 0; ++m) {
      if (covered(m)) continue;
      const std::vector<uint8_t> before = levels_;
      for (size_t i = 0; i < points_.width; ++i) levels_[i] = std::max(levels_[i], meets_[m * points_.width + i]);
      widen(m + 1);
      levels_ = before;
    }
  }

  // Of the nearest that are enough, the farthest: no set that is enough costs less than the pair of it and the point.
  double farthest_needed(const std::vector<std::pair<float, Point>>& near) {
    for (size_t many = 1; many < members_.size(); ++many)
      if (enough([&](size_t m) { return m <= many; })) return static_cast<double>(near[many - 1].first) - kRounding;
    return kNever;
  }
};

// The least that a row of each point can cost, given what it costs.
nb::object cheapest_sets(const Table& codes, const Longs& rows, const std::vector<Table>& groups,
                         const std::vector<Floats>& losses, int64_t least, const std::vector<RuleArrays>& rules,
                         const Doubles& costs) {
  const Points points = read_points(codes, rows, groups, losses);
  if (costs.size() != points.count) throw std::invalid_argument("a cost per point is needed");
  std::vector<Rule> made;
  for (const RuleArrays& rule : rules) made.emplace_back(rule, points.count);
  for (const Rule& rule : made)
    if (rule.form == Rule::kOrdered) throw std::invalid_argument("what keeps an order of values is not known of a part");
  std::vector<double> bounds(points.count);
  {
    nb::gil_scoped_release release;
    std::vector<Point> all(points.count);
    std::iota(all.begin(), all.end(), 0);
    Neighbours neighbours(points, all);
    CheapestSets sets(points, least, made);
    for (const Point p : all) bounds[p] = sets.bound(neighbours, p, costs.data()[p]);
  }
  const size_t count = bounds.size();
  return shoal::to_numpy<double>(std::move(bounds), {count});
}

// What all rows cost at least, given what each of them does, the dearest first: a class has at least so many rows, and all
// of them cost as much as the dearest.  Classes of neighbours in this order, of fewer than twice so many, cost least.
double cost_in_classes(const Doubles& costs, int64_t least) {
  const auto rows = static_cast<int64_t>(costs.size());
  if (least < 1 || rows < least) throw std::invalid_argument("fewer rows than a class has");
  std::vector<double> from(static_cast<size_t>(rows) + 1, HUGE_VAL);  // what the rows from one on cost
  from[static_cast<size_t>(rows)] = 0;
  for (int64_t first = rows - least; first >= 0; --first)
    for (int64_t size = least; size < 2 * least && first + size <= rows; ++size) {
      double& best = from[static_cast<size_t>(first)];
      best = std::min(best, static_cast<double>(size) * costs.data()[first] + from[static_cast<size_t>(first + size)]);
    }
  return from[0];
}

}  // namespace

void register_local(nb::module_& m) {
  nb::class_<Clusters>(m, "Clusters")
      .def(nb::init<const Table&, const Longs&, const std::vector<Table>&, const std::vector<Floats>&, int64_t,
                    const std::vector<RuleArrays>&, size_t, int, uint64_t>(),
           "codes"_a.noconvert(), "rows"_a, "groups"_a, "losses"_a, "least"_a, "rules"_a, "nearest"_a, "visits"_a,
           "seed"_a)
      .def("improve", &Clusters::improve, "start"_a, "end"_a)
      .def("clusters", &Clusters::clusters);
  m.def("cheapest_sets", &cheapest_sets, "codes"_a.noconvert(), "rows"_a, "groups"_a, "losses"_a, "least"_a, "rules"_a,
        "costs"_a);
  m.def("cost_in_classes", &cost_in_classes, "costs"_a, "least"_a);
}
