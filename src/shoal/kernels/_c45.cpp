// C4.5 (Quinlan, 1993; Release 8): gain ratio, missing values as fractions of rows, collapsing, error-based pruning
// with subtree raising. Tolerances are those that make the trees of Weka's J48; tests/peers/test_j48.py compares them.
#include "_shared.hpp"

#include <nanobind/stl/tuple.h>

#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

using namespace nb::literals;

namespace shoal {
namespace {

constexpr double kSmall = 1e-6;  // numbers that differ by less are equal
constexpr double kApart = 1e-5;  // values of a numeric attribute that are closer are not cut apart
constexpr double kNearAverage = 1e-3;  // how far below the average gain the gain of a chosen attribute may lie
constexpr double kCollapse = 1e-3;  // fewer training errors than this are no reason to split
constexpr double kPrune = 0.1;  // how many estimated errors a simpler tree may cost
constexpr double kMany = 0.3;  // with more values than this share of rows, the gain does not count in the average
constexpr size_t kTable = size_t{1} << 20;
constexpr size_t kRadix = 11;
constexpr size_t kDeepest = 10'000;  // tests on a way: beyond, the stack might not suffice

bool greater(double a, double b) { return a - b > kSmall; }
bool less(double a, double b) { return b - a > kSmall; }
bool at_least(double a, double b) { return b - a < kSmall; }
bool at_most(double a, double b) { return a - b < kSmall; }
bool same(double a, double b) { return a - b < kSmall && b - a < kSmall; }

struct Attribute {
  const int32_t* codes;  // outside of 0 … size - 1: missing
  int32_t size;
  const double* values;       // ascending; null where the attribute is nominal
  std::vector<int32_t> held;  // of a numeric one: the codes that some row holds, ascending

  bool numeric() const { return values != nullptr; }
  bool known(int32_t code) const { return static_cast<uint32_t>(code) < static_cast<uint32_t>(size); }
  int32_t branches() const { return numeric() ? 2 : size; }
};

// Rows with their weights; where there are no weights, each weighs one.
struct Rows {
  uint32_t* row;
  const double* weight;
  size_t n;
};

using Counts = std::vector<double>;  // weight of each class

double total(const Counts& counts) {
  double sum = 0;
  for (const double count : counts) sum += count;
  return sum;
}

// The most frequent class, of equal ones the first.
size_t majority(const Counts& counts) {
  size_t best = 0;
  double most = 0;
  for (size_t c = 0; c < counts.size(); ++c)
    if (greater(counts[c], most)) most = counts[c], best = c;
  return best;
}

double wrong(const Counts& counts) { return total(counts) - counts[majority(counts)]; }

struct Node {
  int32_t attribute = -1;  // -1: a leaf
  int32_t cut = -1;        // of a numeric test: codes up to this one go to the first branch
  Counts counts;
  double estimate = 0;                      // estimated errors of the subtree
  std::vector<std::unique_ptr<Node>> sons;  // null: a branch without rows

  bool leaf() const { return attribute < 0; }
};

// The rows of each branch, one branch after the other.
struct Parts {
  uint32_t* row = nullptr;
  std::vector<size_t> begin;
  std::vector<uint32_t> own;  // the rows, where they do not lie in those of the node
  std::vector<double> weight;

  size_t branches() const { return begin.size() - 1; }
  bool empty(size_t b) const { return begin[b] == begin[b + 1]; }
  Rows operator[](size_t b) const {
    return {row + begin[b], weight.empty() ? nullptr : weight.data() + begin[b], begin[b + 1] - begin[b]};
  }
};

// Weight of the rows that share a value and a class.
struct Cell {
  int32_t code, cls;
  double weight;
};

struct Keyed {
  uint64_t key;
  double weight;
};

// Sorts by key, least digit first; equal keys keep their order.
class Sorter {
 public:
  void sort(std::vector<Keyed>& keyed, uint64_t most) {
    if (keyed.size() < 256) {
      std::stable_sort(keyed.begin(), keyed.end(), [](const Keyed& a, const Keyed& b) { return a.key < b.key; });
      return;
    }
    other_.resize(keyed.size());
    constexpr uint64_t digits = uint64_t{1} << kRadix;
    for (int shift = 0; shift < 64 && most >> shift != 0; shift += kRadix) {
      begin_.assign(digits + 1, 0);
      for (const Keyed& each : keyed) ++begin_[(each.key >> shift & (digits - 1)) + 1];
      for (size_t d = 0; d < digits; ++d) begin_[d + 1] += begin_[d];
      for (const Keyed& each : keyed) other_[begin_[each.key >> shift & (digits - 1)]++] = each;
      keyed.swap(other_);
    }
  }

 private:
  std::vector<Keyed> other_;
  std::vector<size_t> begin_;
};

class C45 {
 public:
  C45(std::vector<Attribute> attributes, const int32_t* classes, size_t n, size_t size, double confidence,
      double normal, double minimum)
      : attributes_(std::move(attributes)), classes_(classes), n_(n), size_(size), confidence_(confidence),
        normal_(normal), minimum_(minimum), used_(attributes_.size()) {
    for (size_t x = 0; x <= std::min(n, kTable); ++x)
      table_.push_back(x < 2 ? 0.0 : static_cast<double>(x) * std::log(static_cast<double>(x)));
    for (Attribute& attribute : attributes_) look_at(attribute);
  }

  std::unique_ptr<Node> tree() {
    std::vector<uint32_t> rows;
    for (size_t i = 0; i < n_; ++i)
      if (classes_[i] >= 0 && static_cast<size_t>(classes_[i]) < size_) rows.push_back(static_cast<uint32_t>(i));
    double errors = 0;
    return grow({rows.data(), nullptr, rows.size()}, errors, 0);
  }

 private:
  struct Split {
    bool valid = false;
    double gain = 0, ratio = 0;
    int32_t last = -1, next = -1;  // of a numeric one: the codes beside the cut
  };

  std::vector<Attribute> attributes_;
  const int32_t* classes_;
  size_t n_, size_;
  double confidence_, normal_, minimum_;
  std::vector<char> used_;  // nominal attributes that were tested above
  std::vector<double> table_;
  bool crowd_of_values_ = true;  // every attribute is nominal with very many values
  bool any_missing_ = false;
  // what is used again from node to node
  std::vector<double> histogram_, left_, right_;
  std::vector<Keyed> keyed_;
  std::vector<Cell> cells_;
  std::vector<uint32_t> moved_;
  Sorter sorter_;

  void look_at(Attribute& attribute) {
    std::vector<char> held(static_cast<size_t>(attribute.size));
    for (size_t i = 0; i < n_; ++i)
      if (attribute.known(attribute.codes[i]))
        held[attribute.codes[i]] = 1;
      else
        any_missing_ = true;
    crowd_of_values_ &= !measures(attribute);
    if (!attribute.numeric()) return;
    for (int32_t code = 0; code < attribute.size; ++code)
      if (held[code]) attribute.held.push_back(code);
  }

  // Whether its gain counts in the average.
  bool measures(const Attribute& attribute) const {
    return attribute.numeric() || less(attribute.size, kMany * static_cast<double>(n_));
  }

  // x ln x
  double nats(double x) const {
    const auto whole = static_cast<size_t>(x);
    if (whole < table_.size() && static_cast<double>(whole) == x) return table_[whole];
    return x < kSmall ? 0.0 : x * std::log(x);
  }

  Counts count(const Rows& rows) const {
    Counts counts(size_);
    for (size_t i = 0; i < rows.n; ++i) counts[classes_[rows.row[i]]] += rows.weight ? rows.weight[i] : 1.0;
    return counts;
  }

  // Quinlan's estimate: the upper limit of the errors among so many rows, at the confidence asked.
  double more_errors(double rows, double errors) const {
    if (confidence_ > 0.5) return 0;
    if (errors < 1) {
      const double base = rows * (1 - std::pow(confidence_, 1 / rows));
      return errors == 0 ? base : base + errors * (more_errors(rows, 1) - base);
    }
    if (errors + 0.5 >= rows) return std::max(rows - errors, 0.0);
    const double z = normal_, f = (errors + 0.5) / rows;
    const double root = std::sqrt(f / rows - f * f / rows + z * z / (4 * rows * rows));
    return (f + z * z / (2 * rows) + z * root) / (1 + z * z / rows) * rows - errors;
  }

  double estimate(const Counts& counts) const {
    const double rows = total(counts);
    if (same(rows, 0)) return 0;
    const double errors = wrong(counts);
    return errors + more_errors(rows, errors);
  }

  // growing

  // The tree of some rows, pruned; `errors` are its training errors before that. Changes the order of the rows.
  std::unique_ptr<Node> grow(const Rows& rows, double& errors, size_t depth) {
    if (depth > kDeepest) throw std::overflow_error("the tree is too deep");
    auto node = std::make_unique<Node>();
    node->counts = count(rows);
    const double weight = total(node->counts), as_leaf = wrong(node->counts);
    node->estimate = estimate(node->counts);
    errors = as_leaf;
    if (less(weight, 2 * minimum_) || same(as_leaf, 0)) return node;
    if (!choose(rows, weight, *node)) return node;
    const bool nominal = !attributes_[node->attribute].numeric();
    const Parts parts = divide(rows, *node, true);
    errors = 0;
    used_[node->attribute] = nominal;
    node->sons.resize(parts.branches());
    for (size_t b = 0; b < node->sons.size(); ++b) {
      if (parts.empty(b)) continue;
      double of_son = 0;
      node->sons[b] = grow(parts[b], of_son, depth + 1);
      errors += of_son;
    }
    if (nominal) used_[node->attribute] = 0;
    if (errors >= as_leaf - kCollapse)
      cut_off(*node);
    else
      simplify(*node, rows, parts);
    return node;
  }

  bool choose(const Rows& rows, double weight, Node& node) {
    std::vector<Split> splits(attributes_.size());
    double sum = 0;
    size_t valid = 0;
    for (size_t a = 0; a < attributes_.size(); ++a) {
      if (used_[a]) continue;
      splits[a] = attributes_[a].numeric() ? cut(a, rows, weight) : fan(a, rows, weight);
      if (!splits[a].valid || !(crowd_of_values_ || measures(attributes_[a]))) continue;
      sum += splits[a].gain;
      ++valid;
    }
    if (valid == 0) return false;
    const double average = sum / static_cast<double>(valid);
    double best = 0;
    for (size_t a = 0; a < attributes_.size(); ++a)
      if (splits[a].valid && splits[a].gain >= average - kNearAverage && greater(splits[a].ratio, best)) {
        best = splits[a].ratio;
        node.attribute = static_cast<int32_t>(a);
      }
    if (node.leaf()) return false;
    const Attribute& chosen = attributes_[node.attribute];
    if (chosen.numeric()) node.cut = threshold(chosen, splits[node.attribute]);
    return true;
  }

  // A multiway split.
  Split fan(size_t a, const Rows& rows, double weight) {
    const Attribute& attribute = attributes_[a];
    if (attribute.size < 2) return {};
    const size_t known = tally(attribute, rows);
    if (known == 0) return {};
    left_.assign(size_, 0);
    double after = 0, apart = 0, of_known = 0;
    int enough = 0;
    for (size_t at = 0; at < cells_.size();) {
      double bag = 0, inside = 0;
      const int32_t code = cells_[at].code;
      for (; at < cells_.size() && cells_[at].code == code; ++at) {
        bag += cells_[at].weight;
        inside += nats(cells_[at].weight);
        left_[cells_[at].cls] += cells_[at].weight;
      }
      after += nats(bag) - inside;
      apart += nats(bag);
      of_known += bag;
      enough += at_least(bag, minimum_);
    }
    if (enough < 2) return {};
    double before = nats(of_known);
    for (const double count : left_) before -= nats(count);
    Split split;
    split.valid = true;
    split.gain = gain(before - after, of_known, weight);
    split.ratio = ratio(split.gain, apart, of_known, weight);
    return split;
  }

  // The best binary cut.
  Split cut(size_t a, const Rows& rows, double weight) {
    const Attribute& attribute = attributes_[a];
    const size_t known = tally(attribute, rows);
    if (cells_.empty() || cells_.front().code == cells_.back().code) return {};
    left_.assign(size_, 0);
    right_.assign(size_, 0);
    double of_known = 0;
    for (const Cell& cell : cells_) right_[cell.cls] += cell.weight, of_known += cell.weight;
    double least = 0.1 * of_known / static_cast<double>(size_);
    if (at_most(least, minimum_))
      least = minimum_;
    else if (greater(least, 25))
      least = 25;
    if (less(static_cast<double>(known), 2 * least)) return {};
    double gained = 0, lost = 0, lefts = 0, best_left = 0;
    for (const double count : right_) lost += nats(count);
    const double before = nats(of_known) - lost;
    size_t tried = 0;
    Split split;
    for (size_t at = 0; at < cells_.size();) {
      const int32_t code = cells_[at].code;
      if (at > 0 && attribute.values[cells_[at - 1].code] + kApart < attribute.values[code]) {
        const double rights = of_known - lefts;
        if (at_least(lefts, least) && at_least(rights, least)) {
          const double after = nats(lefts) + nats(rights) - gained - lost;
          const double found = gain(before - after, of_known, weight);
          if (greater(found, split.gain)) {
            split.gain = found;
            split.last = cells_[at - 1].code;
            split.next = code;
            best_left = lefts;
          }
          ++tried;
        }
      }
      for (; at < cells_.size() && cells_[at].code == code; ++at) {
        const Cell& cell = cells_[at];
        double &left = left_[cell.cls], &right = right_[cell.cls];
        gained -= nats(left);
        lost -= nats(right);
        left += cell.weight;
        right -= cell.weight;
        gained += nats(left);
        lost += nats(right);
        lefts += cell.weight;
      }
    }
    if (tried == 0 || split.last < 0) return {};
    split.gain -= std::log2(static_cast<double>(tried)) / weight;
    if (at_most(split.gain, 0)) return {};
    split.valid = true;
    split.ratio = ratio(split.gain, nats(best_left) + nats(of_known - best_left), of_known, weight);
    return split;
  }

  // Bits gained for each row, missing ones gaining none.
  static double gain(double nats_gained, double known, double weight) {
    const double bits = known / weight * nats_gained / std::log(2.0);
    return same(bits, 0) ? 0.0 : bits / known;
  }

  // The gain for each bit that the split itself tells; missing is a branch of its own.
  double ratio(double gain, double apart, double known, double weight) const {
    const double bits = (nats(weight) - apart - nats(weight - known)) / std::log(2.0);
    return same(bits, 0) ? 0.0 : gain / (bits / weight);
  }

  // Fills cells_ in order of codes; returns how many rows are known.
  size_t tally(const Attribute& attribute, const Rows& rows) {
    int32_t low = std::numeric_limits<int32_t>::max(), high = -1;
    size_t known = 0;
    for (size_t i = 0; i < rows.n; ++i) {
      const int32_t code = attribute.codes[rows.row[i]];
      if (!attribute.known(code)) continue;
      low = std::min(low, code);
      high = std::max(high, code);
      ++known;
    }
    cells_.clear();
    if (known == 0) return 0;
    const size_t room = (static_cast<size_t>(high - low) + 1) * size_;
    if (room <= 2 * known + 16)
      tally_in_histogram(attribute, rows, low, room);
    else
      tally_by_sorting(attribute, rows, low, room);
    return known;
  }

  void tally_in_histogram(const Attribute& attribute, const Rows& rows, int32_t low, size_t room) {
    histogram_.assign(room, 0);
    for (size_t i = 0; i < rows.n; ++i) {
      const uint32_t row = rows.row[i];
      const int32_t code = attribute.codes[row];
      if (attribute.known(code))
        histogram_[static_cast<size_t>(code - low) * size_ + classes_[row]] += rows.weight ? rows.weight[i] : 1.0;
    }
    for (size_t at = 0, value = 0; at < room; ++value)
      for (size_t c = 0; c < size_; ++c, ++at)
        if (histogram_[at] > 0)
          cells_.push_back({low + static_cast<int32_t>(value), static_cast<int32_t>(c), histogram_[at]});
  }

  void tally_by_sorting(const Attribute& attribute, const Rows& rows, int32_t low, size_t room) {
    keyed_.clear();
    for (size_t i = 0; i < rows.n; ++i) {
      const uint32_t row = rows.row[i];
      const int32_t code = attribute.codes[row];
      if (attribute.known(code))
        keyed_.push_back(
            {static_cast<uint64_t>(code - low) * size_ + classes_[row], rows.weight ? rows.weight[i] : 1.0});
    }
    sorter_.sort(keyed_, room - 1);
    uint64_t before = std::numeric_limits<uint64_t>::max();
    for (const Keyed& each : keyed_) {
      if (each.key != before)
        cells_.push_back(
            {low + static_cast<int32_t>(each.key / size_), static_cast<int32_t>(each.key % size_), each.weight});
      else
        cells_.back().weight += each.weight;
      before = each.key;
    }
  }

  // The largest value of the whole table that does not exceed the middle of the cut.
  int32_t threshold(const Attribute& attribute, const Split& split) const {
    const double low = attribute.values[split.last], high = attribute.values[split.next];
    double middle = (low + high) / 2;
    if (middle == high) middle = low;
    const auto above = std::upper_bound(attribute.held.begin(), attribute.held.end(), middle,
                                        [&](double value, int32_t code) { return value < attribute.values[code]; });
    return *(above - 1);
  }

  // Sends rows down the branches of a node; those without a value down all of them, by the shares of the others.
  // In place, where asked and possible: then deep trees need no more room than shallow ones.
  Parts divide(const Rows& rows, const Node& node, bool in_place = false) {
    const Attribute& attribute = attributes_[node.attribute];
    const auto branches = static_cast<size_t>(attribute.branches());
    const bool numeric = attribute.numeric();
    const int32_t cut = node.cut;
    const auto branch = [&](uint32_t row) -> int64_t {
      const int32_t code = attribute.codes[row];
      if (!attribute.known(code)) return -1;
      return numeric ? code > cut : code;
    };
    Parts parts;
    parts.begin.assign(branches + 1, 0);
    std::vector<double> share;
    size_t unknown = 0;
    for (size_t i = 0; i < rows.n; ++i) {
      const int64_t b = branch(rows.row[i]);
      if (b < 0)
        ++unknown;
      else
        ++parts.begin[b + 1];
    }
    if (unknown > 0) {
      share = shares(rows, branches, branch);
      for (size_t b = 0; b < branches; ++b)
        if (greater(share[b], 0)) parts.begin[b + 1] += unknown;
    }
    for (size_t b = 0; b < branches; ++b) parts.begin[b + 1] += parts.begin[b];
    const bool weighted = rows.weight != nullptr || unknown > 0;
    if (weighted) parts.weight.resize(parts.begin.back());
    std::vector<size_t> at(parts.begin.begin(), parts.begin.end() - 1);
    if (in_place && !weighted) {
      moved_.assign(rows.row, rows.row + rows.n);
      for (const uint32_t row : moved_) rows.row[at[branch(row)]++] = row;
      parts.row = rows.row;
      return parts;
    }
    parts.own.resize(parts.begin.back());
    parts.row = parts.own.data();
    for (size_t i = 0; i < rows.n; ++i) {
      const uint32_t row = rows.row[i];
      const double weight = rows.weight ? rows.weight[i] : 1.0;
      const int64_t b = branch(row);
      if (b >= 0) {
        if (weighted) parts.weight[at[b]] = weight;
        parts.row[at[b]++] = row;
        continue;
      }
      for (size_t each = 0; each < branches; ++each) {
        if (!greater(share[each], 0)) continue;
        parts.weight[at[each]] = share[each] * weight;
        parts.row[at[each]++] = row;
      }
    }
    return parts;
  }

  template <typename Branch>
  static std::vector<double> shares(const Rows& rows, size_t branches, const Branch& branch) {
    std::vector<double> share(branches);
    double known = 0;
    for (size_t i = 0; i < rows.n; ++i) {
      const int64_t b = branch(rows.row[i]);
      if (b < 0) continue;
      const double weight = rows.weight ? rows.weight[i] : 1.0;
      share[b] += weight;
      known += weight;
    }
    for (double& each : share) each = same(known, 0) ? 1.0 / static_cast<double>(branches) : each / known;
    return share;
  }

  // pruning

  void cut_off(Node& node) const {
    node.attribute = node.cut = -1;
    node.sons.clear();
    node.estimate = estimate(node.counts);
  }

  // Replaces a node, whose sons are pruned already, by a leaf or by its largest branch, where that costs nothing.
  void simplify(Node& node, const Rows& rows, const Parts& parts) {
    double as_tree = 0, most = 0;
    size_t largest = 0;
    for (size_t b = 0; b < node.sons.size(); ++b) {
      const double weight = node.sons[b] ? total(node.sons[b]->counts) : 0.0;
      if (at_least(weight, most)) most = weight, largest = b;
      if (node.sons[b]) as_tree += node.sons[b]->estimate;
    }
    const double as_leaf = estimate(node.counts);
    const Node* branch = node.sons[largest].get();
    const double as_branch = branch == nullptr || branch->leaf() ? as_leaf
                             : any_missing_                      ? errors_of(*branch, rows)
                                                                 : errors_with_others(*branch, parts, largest);
    if (at_most(as_leaf, as_tree + kPrune) && at_most(as_leaf, as_branch + kPrune)) return cut_off(node);
    node.estimate = as_tree;
    if (!at_most(as_branch, as_tree + kPrune)) return;
    const std::unique_ptr<Node> raised = std::move(node.sons[largest]);
    node.attribute = raised->attribute;
    node.cut = raised->cut;
    node.sons = std::move(raised->sons);
    prune_again(node, rows);
  }

  // Estimated errors of a branch if all these rows went down it.
  double errors_of(const Node& node, const Rows& rows) {
    if (node.leaf()) return estimate(count(rows));
    const Parts parts = divide(rows, node);
    double errors = 0;
    for (size_t b = 0; b < node.sons.size(); ++b) {
      if (parts.empty(b)) continue;
      errors += node.sons[b] ? errors_of(*node.sons[b], parts[b]) : estimate(count(parts[b]));
    }
    return errors;
  }

  // The same where its own rows are there already, and no value is missing.
  double errors_with(const Node& node, const Rows& more) {
    if (more.n == 0) return node.estimate;
    if (node.leaf()) {
      Counts counts = count(more);
      for (size_t c = 0; c < size_; ++c) counts[c] += node.counts[c];
      return estimate(counts);
    }
    const Parts parts = divide(more, node);
    double errors = 0;
    for (size_t b = 0; b < node.sons.size(); ++b)
      if (node.sons[b])
        errors += errors_with(*node.sons[b], parts[b]);
      else if (!parts.empty(b))
        errors += estimate(count(parts[b]));
    return errors;
  }

  double errors_with_others(const Node& branch, const Parts& parts, size_t largest) {
    std::vector<uint32_t> rows(parts.row, parts.row + parts.begin[largest]);
    rows.insert(rows.end(), parts.row + parts.begin[largest + 1], parts.row + parts.begin.back());
    return errors_with(branch, {rows.data(), nullptr, rows.size()});
  }

  // The rows of a node have changed: counts them anew, and prunes from below.
  void prune_again(Node& node, const Rows& rows) {
    node.counts = count(rows);
    if (node.leaf()) {
      node.estimate = estimate(node.counts);
      return;
    }
    const Parts parts = divide(rows, node);
    for (size_t b = 0; b < node.sons.size(); ++b) {
      if (parts.empty(b)) {
        node.sons[b] = nullptr;
        continue;
      }
      if (!node.sons[b]) node.sons[b] = std::make_unique<Node>();
      const bool as_before = !any_missing_ && !node.sons[b]->counts.empty() &&
                             same(total(node.sons[b]->counts), static_cast<double>(parts[b].n));
      if (!as_before) prune_again(*node.sons[b], parts[b]);
    }
    simplify(node, rows, parts);
  }
};

// A tree as arrays, a node before those below it: tested attribute (-1: leaf), last code of the first branch, where the
// sons of each node begin among all sons (-1: a branch without rows), and the weight of each class in each node.
struct Flat {
  std::vector<int32_t> attribute, cut, sons;
  std::vector<int64_t> begin;
  std::vector<double> counts;
};

Flat flatten(const Node& root) {
  Flat flat;
  std::vector<std::pair<const Node*, size_t>> open{{&root, 0}};  // a node, and where its number is to be written
  flat.sons.push_back(-1);                                      // for the root, until all are written
  while (!open.empty()) {
    const auto [node, place] = open.back();
    open.pop_back();
    flat.sons[place] = static_cast<int32_t>(flat.attribute.size());
    flat.attribute.push_back(node->attribute);
    flat.cut.push_back(node->cut);
    flat.begin.push_back(static_cast<int64_t>(flat.sons.size()) - 1);
    flat.counts.insert(flat.counts.end(), node->counts.begin(), node->counts.end());
    const size_t first = flat.sons.size();
    flat.sons.resize(first + node->sons.size(), -1);
    for (size_t b = node->sons.size(); b-- > 0;)
      if (node->sons[b]) open.emplace_back(node->sons[b].get(), first + b);
  }
  flat.sons.erase(flat.sons.begin());
  flat.begin.push_back(static_cast<int64_t>(flat.sons.size()));
  return flat;
}

using AttributeIn = std::tuple<In<int32_t>, int32_t, std::optional<In<double>>>;

nb::tuple learn(const std::vector<AttributeIn>& attributes, const In<int32_t>& classes, size_t size, double confidence,
              double normal, double minimum) {
  const size_t n = classes.size();
  if (size == 0) throw std::invalid_argument("a class is needed");
  std::vector<Attribute> all;
  for (const auto& [codes, values, numbers] : attributes) {
    if (codes.size() != n || values < 0) throw std::invalid_argument("a code per row is needed");
    if (numbers && numbers->size() != static_cast<size_t>(values))
      throw std::invalid_argument("a number per code is needed");
    // an empty vector has no address, but is numeric nevertheless
    static const double nothing = 0;
    const double* at = !numbers ? nullptr : values == 0 ? &nothing : numbers->data();
    for (int32_t v = 1; at != nullptr && v < values; ++v)
      if (!(at[v - 1] < at[v])) throw std::invalid_argument("numbers out of order");
    Attribute attribute;
    attribute.codes = codes.data();
    attribute.size = values;
    attribute.values = at;
    all.push_back(std::move(attribute));
  }
  Flat flat;
  {
    nb::gil_scoped_release without;
    C45 learner(std::move(all), classes.data(), n, size, confidence, normal, minimum);
    flat = flatten(*learner.tree());
  }
  const size_t nodes = flat.attribute.size(), sons = flat.sons.size();
  return nb::make_tuple(
      to_numpy<int32_t>(std::move(flat.attribute), {nodes}), to_numpy<int32_t>(std::move(flat.cut), {nodes}),
      to_numpy<int64_t>(std::move(flat.begin), {nodes + 1}), to_numpy<int32_t>(std::move(flat.sons), {sons}),
      to_numpy<double>(std::move(flat.counts), {nodes, size}));
}

// A tree that answers for rows in its own codes; less than 0: missing.
struct Grown {
  const int32_t *attribute, *cut;
  const int64_t* begin;
  const int32_t* sons;
  const double* counts;
  size_t nodes, classes;
  std::vector<const int32_t*> codes;
  std::vector<char> numeric;
  std::vector<double> totals;

  // The branch that a code takes, or -1 for one that has no rows.
  int32_t son(int32_t node, int32_t code) const {
    const int64_t branch = numeric[attribute[node]] ? code > cut[node] : code;
    if (branch >= begin[node + 1] - begin[node]) throw std::invalid_argument("a code out of range");
    const int32_t found = sons[begin[node] + branch];
    return found < 0 || same(totals[found], 0) ? -1 : found;
  }

  // Adds the share of each class at the end of the way of a row; where values are missing, of all ways it may take.
  void ask(int32_t node, size_t row, double weight, double* shares) const {
    while (attribute[node] >= 0) {
      const int32_t code = codes[attribute[node]][row];
      if (code < 0) {
        double all = 0;
        for (int64_t s = begin[node]; s < begin[node + 1]; ++s) all += sons[s] < 0 ? 0.0 : totals[sons[s]];
        for (int64_t s = begin[node]; s < begin[node + 1]; ++s)
          if (sons[s] >= 0 && !same(totals[sons[s]], 0)) ask(sons[s], row, weight * totals[sons[s]] / all, shares);
        return;
      }
      const int32_t next = son(node, code);
      if (next < 0) break;
      node = next;
    }
    for (size_t c = 0; c < classes; ++c) shares[c] += weight * counts[node * classes + c] / totals[node];
  }

  // The leaf of a row, or -1 for a branch without rows; where a value is missing, it takes the heaviest branch.
  int32_t leaf(size_t row) const {
    int32_t node = 0;
    while (node >= 0 && attribute[node] >= 0) {
      const int32_t code = codes[attribute[node]][row];
      if (code >= 0) {
        node = son(node, code);
        continue;
      }
      int32_t heaviest = -1;
      for (int64_t s = begin[node]; s < begin[node + 1]; ++s)
        if (sons[s] >= 0 && (heaviest < 0 || greater(totals[sons[s]], totals[heaviest]))) heaviest = sons[s];
      node = heaviest;
    }
    return node;
  }
};

using Arrays = std::tuple<In<int32_t>, In<int32_t>, In<int64_t>, In<int32_t>, Matrix<double>>;

// Refuses what would read outside of the tree or of the rows.
Grown grown_of(const Arrays& tree, const std::vector<In<int32_t>>& codes, const std::vector<bool>& numeric,
               size_t rows) {
  const auto& [attribute, cut, begin, sons, counts] = tree;
  Grown grown{attribute.data(), cut.data(), begin.data(), sons.data(), counts.data(),
              attribute.size(), counts.shape(1), {}, {numeric.begin(), numeric.end()}, {}};
  const auto nodes = static_cast<int64_t>(grown.nodes);
  if (nodes == 0 || cut.size() != grown.nodes || begin.size() != grown.nodes + 1 || counts.shape(0) != grown.nodes ||
      begin.data()[0] != 0 || begin.data()[nodes] != static_cast<int64_t>(sons.size()) ||
      numeric.size() != codes.size())
    throw std::invalid_argument("uneven tree");
  for (int64_t i = 0; i < nodes; ++i)
    if (attribute.data()[i] >= static_cast<int64_t>(codes.size()) || begin.data()[i] > begin.data()[i + 1])
      throw std::invalid_argument("a node out of range");
  for (int64_t i = 0; i < nodes; ++i)  // a son comes after its node, so that every way ends
    for (int64_t s = begin.data()[i]; s < begin.data()[i + 1]; ++s)
      if (sons.data()[s] >= nodes || (sons.data()[s] >= 0 && sons.data()[s] <= i))
        throw std::invalid_argument("a son out of range");
  for (const auto& each : codes) {
    if (each.size() != rows) throw std::invalid_argument("a code per row is needed");
    grown.codes.push_back(each.data());
  }
  for (size_t i = 0; i < grown.nodes; ++i) {
    double sum = 0;
    for (size_t c = 0; c < grown.classes; ++c) sum += counts.data()[i * grown.classes + c];
    grown.totals.push_back(sum);
  }
  return grown;
}

nb::object shares_of(const Arrays& tree, const std::vector<In<int32_t>>& codes, const std::vector<bool>& numeric,
                     size_t rows) {
  const Grown grown = grown_of(tree, codes, numeric, rows);
  std::vector<double> shares(rows * grown.classes);
  {
    nb::gil_scoped_release without;
    for (size_t row = 0; row < rows; ++row) grown.ask(0, row, 1.0, shares.data() + row * grown.classes);
  }
  return to_numpy<double>(std::move(shares), {rows, grown.classes});
}

nb::object leaves_of(const Arrays& tree, const std::vector<In<int32_t>>& codes, const std::vector<bool>& numeric,
                     size_t rows) {
  const Grown grown = grown_of(tree, codes, numeric, rows);
  std::vector<int32_t> leaves(rows);
  {
    nb::gil_scoped_release without;
    for (size_t row = 0; row < rows; ++row) leaves[row] = grown.leaf(row);
  }
  return to_numpy<int32_t>(std::move(leaves), {rows});
}

}  // namespace

void bind_c45(nb::module_& m) {
  m.def("c45", &learn, "attributes"_a, "classes"_a, "size"_a, "confidence"_a, "normal"_a, "minimum"_a);
  m.def("c45_shares", &shares_of, "tree"_a, "codes"_a, "numeric"_a, "rows"_a);
  m.def("c45_leaves", &leaves_of, "tree"_a, "codes"_a, "numeric"_a, "rows"_a);
}

}  // namespace shoal
