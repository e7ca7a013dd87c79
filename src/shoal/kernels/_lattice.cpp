// Nodes of a lattice: lists of them that are compared level by level, and a lower bound for every node of one.
#include "_shared.hpp"

#include <cmath>
#include <limits>

using namespace nb::literals;
using namespace shoal;

namespace {

using Node = std::vector<int32_t>;
using Floors = std::vector<In<double>>;

// Nodes with a weight each, oldest first.
class Nodes {
 public:
  explicit Nodes(size_t attributes) : attributes_(attributes) {}

  size_t size() const { return weights_.size(); }

  void add(const Node& node, int64_t weight) {
    expect(node);
    levels_.insert(levels_.end(), node.begin(), node.end());
    weights_.push_back(weight);
  }

  Node at(size_t i) const {
    if (i >= size()) throw nb::index_error("no such node");
    return Node(levels_.begin() + i * attributes_, levels_.begin() + (i + 1) * attributes_);
  }

  bool any_below(const Node& node) const {
    expect(node);
    for (size_t i = 0; i < size(); ++i)
      if (is_below(row(i), node.data())) return true;
    return false;
  }

  bool any_above(const Node& node) const {
    expect(node);
    for (size_t i = 0; i < size(); ++i)
      if (is_below(node.data(), row(i))) return true;
    return false;
  }

  // Of the nodes that are at most as general the lightest, of equal ones the oldest; -1 if there is none.
  int64_t lightest_below(const Node& node) const {
    expect(node);
    int64_t found = -1;
    for (size_t i = 0; i < size(); ++i)
      if ((found < 0 || weights_[i] < weights_[found]) && is_below(row(i), node.data())) found = static_cast<int64_t>(i);
    return found;
  }

  void forget(size_t oldest) {
    oldest = std::min(oldest, size());
    levels_.erase(levels_.begin(), levels_.begin() + oldest * attributes_);
    weights_.erase(weights_.begin(), weights_.begin() + oldest);
  }

 private:
  size_t attributes_;
  std::vector<int32_t> levels_;
  std::vector<int64_t> weights_;

  const int32_t* row(size_t i) const { return levels_.data() + i * attributes_; }

  void expect(const Node& node) const {
    if (node.size() != attributes_) throw std::invalid_argument("a level per attribute is needed");
  }

  bool is_below(const int32_t* low, const int32_t* high) const {
    for (size_t a = 0; a < attributes_; ++a)
      if (low[a] > high[a]) return false;
    return true;
  }
};

// A lower bound of every node of a lattice, in the order of the levels, the last attribute's first; and the nodes in the
// order in which they are looked at.  A node is closed once its bound is infinite.
class Bounds {
 public:
  Bounds(const Node& shape, const Floors& floors, double fixed, const In<uint32_t>& order)
      : shape_(shape), stride_(shape.size()), order_(order.data(), order.data() + order.size()) {
    size_t size = 1;
    for (size_t a = shape.size(); a-- > 0;) {
      if (shape[a] < 1) throw std::invalid_argument("an axis without levels");
      stride_[a] = size;
      size *= static_cast<size_t>(shape[a]);
    }
    if (order.size() != size) throw std::invalid_argument("every node needs a place in the order");
    for (const uint32_t node : order_)
      if (node >= size) throw std::invalid_argument("a node outside of the lattice");
    bounds_.assign(size, -kInfinite);
    Node top(shape);
    for (int32_t& level : top) --level;
    raise_below(top, floors, fixed);
  }

  nb::object values() const { return to_numpy<double>(std::vector<double>(bounds_), {bounds_.size()}); }
  double at(size_t node) const {
    if (node >= bounds_.size()) throw nb::index_error("no such node");
    return bounds_[node];
  }
  double passed() const { return static_cast<double>(next_) / static_cast<double>(order_.size()); }

  // Raises the node and all finer ones to the sum of what `floors` say of their levels.
  void raise_below(const Node& node, const Floors& floors, double fixed) {
    expect(node);
    if (floors.size() != shape_.size()) throw std::invalid_argument("floors per axis are needed");
    for (size_t a = 0; a < node.size(); ++a)
      if (floors[a].size() <= static_cast<size_t>(node[a])) throw std::invalid_argument("a floor per level is needed");
    sum(0, 0, 0.0, node, floors, fixed);
  }

  // Closes the node and all finer ones.
  void close_below(const Node& node) {
    expect(node);
    each_run(Node(node.size(), 0), node, [&](double* run, size_t count) { std::fill(run, run + count, kInfinite); });
  }

  // Raises the node and all coarser ones.
  void raise_above(const Node& node, double bound) {
    expect(node);
    Node top(shape_);
    for (int32_t& level : top) --level;
    each_run(node, top, [&](double* run, size_t count) {
      for (size_t i = 0; i < count; ++i) run[i] = std::max(run[i], bound);
    });
  }

  void close(const Node& node) {
    expect(node);
    bounds_[index(node)] = kInfinite;
  }

  // The next node that may beat the best one, whose index is `best` (-1: none yet), or -1.  It stays the next one until
  // it is closed.  A node that cannot win never can again, so each is passed once.
  int64_t next(double score, double near, int64_t best) {
    const Rank than = rank(best);
    while (next_ < order_.size() && !can_beat(order_[next_], score, near, best, than)) ++next_;
    return next_ < order_.size() ? static_cast<int64_t>(order_[next_]) : -1;
  }

  // The least bound of the nodes that may still beat the best one; infinite if there is none.
  double least(double score, double near, int64_t best) const {
    const Rank than = rank(best);
    double found = kInfinite;
    for (size_t i = next_; i < order_.size(); ++i)
      if (can_beat(order_[i], score, near, best, than)) found = std::min(found, bounds_[order_[i]]);
    return found;
  }

  // The open node one step above under which most nodes have a bound below `ceiling` that do not lie under this one; -1
  // if there is none.
  int64_t widest_above(const Node& node, double ceiling) {
    expect(node);
    size_t most = 0;
    int64_t found = -1;
    for (size_t a = 0; a < node.size(); ++a) {
      if (node[a] + 1 >= shape_[a] || bounds_[index(node) + stride_[a]] == kInfinite) continue;
      Node low(node.size(), 0), high(node);
      low[a] = high[a] = node[a] + 1;  // what it adds: this level, with the same levels or lower ones of the others
      size_t many = 0;
      each_run(low, high, [&](const double* run, size_t count) {
        for (size_t i = 0; i < count; ++i) many += run[i] < ceiling;
      });
      if (many > most) {
        most = many;
        found = static_cast<int64_t>(index(node) + stride_[a]);
      }
    }
    return found;
  }

 private:
  static constexpr double kInfinite = std::numeric_limits<double>::infinity();
  using Rank = std::pair<int64_t, int64_t>;
  Node shape_;
  std::vector<size_t> stride_;
  std::vector<uint32_t> order_;
  std::vector<double> bounds_;
  size_t next_ = 0;

  void expect(const Node& node) const {
    if (node.size() != shape_.size()) throw std::invalid_argument("a level per axis is needed");
    for (size_t a = 0; a < node.size(); ++a)
      if (node[a] < 0 || node[a] >= shape_[a]) throw std::invalid_argument("a level outside of the lattice");
  }

  size_t index(const Node& node) const {
    size_t at = 0;
    for (size_t a = 0; a < node.size(); ++a) at += static_cast<size_t>(node[a]) * stride_[a];
    return at;
  }

  // Ties go to the lower node, then to the first in the order of the attributes.
  Rank rank(int64_t node) const {
    if (node < 0) return {0, 0};
    int64_t height = 0;
    for (size_t a = 0, left = static_cast<size_t>(node); a < shape_.size(); left %= stride_[a], ++a)
      height += static_cast<int64_t>(left / stride_[a]);
    return {height, node};
  }

  bool can_beat(uint32_t node, double score, double near, int64_t best, const Rank& than) const {
    const double bound = bounds_[node];
    if (best < 0) return bound < kInfinite;
    return bound < score - near || (bound <= score + near && rank(node) < than);
  }

  void sum(size_t axis, size_t at, double before, const Node& node, const Floors& floors, double fixed) {
    if (axis == node.size()) {
      bounds_[at] = std::max(bounds_[at], before + fixed);
      return;
    }
    const double* floor = floors[axis].data();
    if (axis + 1 == node.size()) {
      double* run = bounds_.data() + at;
      for (int32_t i = 0; i <= node[axis]; ++i) run[i] = std::max(run[i], before + floor[i] + fixed);
      return;
    }
    for (int32_t i = 0; i <= node[axis]; ++i) sum(axis + 1, at + i * stride_[axis], before + floor[i], node, floors, fixed);
  }

  // Calls `work(run, count)` for the bounds of all nodes between two, run by run.
  template <typename Work> void each_run(const Node& low, const Node& high, const Work& work) {
    if (shape_.empty()) return work(bounds_.data(), 1);
    each_run(0, 0, low, high, work);
  }
  template <typename Work>
  void each_run(size_t axis, size_t at, const Node& low, const Node& high, const Work& work) {
    if (axis + 1 == shape_.size())
      return work(bounds_.data() + at + low[axis], static_cast<size_t>(high[axis] - low[axis] + 1));
    for (int32_t i = low[axis]; i <= high[axis]; ++i) each_run(axis + 1, at + i * stride_[axis], low, high, work);
  }
};

// What the attributes of a table cost at each level, and what rows under each label cost there at most.
//
// costs[attribute][level] is a matrix [lower level, group]: the highest cost at the lower level among the labels under
// a group of the level.  `means` are the costs of all rows by attribute and level.
class LevelCosts {
 public:
  LevelCosts(const std::vector<std::vector<Matrix<double>>>& costs, const std::vector<In<double>>& means, double rows)
      : rows_(rows) {
    if (costs.size() != means.size()) throw std::invalid_argument("means per attribute are needed");
    for (size_t i = 0; i < costs.size(); ++i) {
      if (means[i].size() < costs[i].size()) throw std::invalid_argument("a mean per level is needed");
      means_.emplace_back(means[i].data(), means[i].data() + means[i].size());
      costs_.emplace_back();
      for (size_t h = 0; h < costs[i].size(); ++h) {
        const auto& matrix = costs[i][h];
        if (matrix.shape(0) != h + 1) throw std::invalid_argument("costs of every lower level are needed");
        costs_[i].push_back({matrix.shape(1), {matrix.data(), matrix.data() + matrix.size()}});
      }
    }
  }

  // The mean costs, for each attribute and each level up to the node's, if `gone` rows of each class, and `rest` per
  // label, cost 1 instead: at a finer level they cost what the dearest label under theirs does, at most.
  nb::object without(const Node& node, const Words& keys, const In<int64_t>& gone, const In<int32_t>& word,
                     const In<int32_t>& shift, const In<uint64_t>& mask, const std::optional<In<int64_t>>& rest) const {
    const size_t m = keys.shape(0), w = keys.shape(1);
    const Layout fields = layout(word, shift, mask, w);
    if (gone.size() != m) throw std::invalid_argument("a number per key is needed");
    if (node.size() != costs_.size() || fields.fields != costs_.size())
      throw std::invalid_argument("a level and a field per attribute is needed");
    std::vector<size_t> begin(node.size() + 1, 0);
    size_t entries = 0;
    for (size_t i = 0; i < node.size(); ++i) {
      if (node[i] < 0 || static_cast<size_t>(node[i]) > costs_[i].size()) throw std::invalid_argument("no such level");
      begin[i + 1] = begin[i] + groups(i, node[i]);
      entries += static_cast<size_t>(node[i]) + 1;
    }
    std::vector<int64_t> under(begin.back(), 0);
    if (rest) {
      if (rest->size() != under.size()) throw std::invalid_argument("a number per label is needed");
      std::copy(rest->data(), rest->data() + rest->size(), under.begin());
    }
    for (size_t c = 0; c < m; ++c) {
      const int64_t rows = gone.data()[c];
      if (rows == 0) continue;
      const uint64_t* key = keys.data() + c * w;
      for (size_t f = 0; f < fields.fields; ++f) {
        const size_t code = (key[fields.word[f]] >> fields.shift[f]) & fields.mask[f];
        if (code >= begin[f + 1] - begin[f]) throw std::invalid_argument("a code beyond the labels of its level");
        under[begin[f] + code] += rows;
      }
    }
    int64_t lost = 0;  // every attribute counts the same rows
    for (size_t g = 0; g < (begin.size() > 1 ? begin[1] : 0); ++g) lost += under[g];
    std::vector<double> means;
    means.reserve(entries);
    for (size_t i = 0; i < node.size(); ++i) {
      const size_t level = static_cast<size_t>(node[i]);
      if (level == costs_[i].size()) {  // left out, it costs nothing
        means.insert(means.end(), level + 1, 0.0);
        continue;
      }
      const Costs& costs = costs_[i][level];
      for (size_t low = 0; low <= level; ++low) {
        const double* dearest = costs.highest.data() + low * costs.groups;
        double saved = 0;
        for (size_t g = 0; g < costs.groups; ++g) saved += dearest[g] * static_cast<double>(under[begin[i] + g]);
        means.push_back(means_[i][low] + (static_cast<double>(lost) - saved) / rows_);
      }
    }
    return to_numpy<double>(std::move(means), {entries});
  }

 private:
  struct Costs { size_t groups; std::vector<double> highest; };
  double rows_;
  std::vector<std::vector<double>> means_;
  std::vector<std::vector<Costs>> costs_;

  size_t groups(size_t i, int32_t level) const {
    return static_cast<size_t>(level) == costs_[i].size() ? 1 : costs_[i][level].groups;
  }
};

}  // namespace

namespace shoal {

void bind_lattice(nb::module_& m) {
  nb::class_<Nodes>(m, "Nodes")
      .def(nb::init<size_t>(), "attributes"_a)
      .def("__len__", &Nodes::size)
      .def("__getitem__", [](const Nodes& nodes, size_t i) { return nb::tuple(nb::cast(nodes.at(i))); }, "at"_a)
      .def("add", &Nodes::add, "node"_a, "weight"_a = 0)
      .def("any_below", &Nodes::any_below, "node"_a)
      .def("any_above", &Nodes::any_above, "node"_a)
      .def("lightest_below", &Nodes::lightest_below, "node"_a)
      .def("forget", &Nodes::forget, "oldest"_a);
  nb::class_<Bounds>(m, "Bounds")
      .def(nb::init<const Node&, const Floors&, double, const In<uint32_t>&>(), "shape"_a, "floors"_a, "fixed"_a,
           "order"_a)
      .def_prop_ro("values", &Bounds::values)
      .def_prop_ro("passed", &Bounds::passed)
      .def("__getitem__", &Bounds::at, "node"_a)
      .def("raise_below", &Bounds::raise_below, "node"_a, "floors"_a, "fixed"_a)
      .def("close_below", &Bounds::close_below, "node"_a)
      .def("raise_above", &Bounds::raise_above, "node"_a, "bound"_a)
      .def("close", &Bounds::close, "node"_a)
      .def("next", &Bounds::next, "score"_a, "near"_a, "best"_a)
      .def("least", &Bounds::least, "score"_a, "near"_a, "best"_a)
      .def("widest_above", &Bounds::widest_above, "node"_a, "ceiling"_a);
  nb::class_<LevelCosts>(m, "LevelCosts")
      .def(nb::init<const std::vector<std::vector<Matrix<double>>>&, const std::vector<In<double>>&, double>(),
           "costs"_a, "means"_a, "rows"_a)
      .def("without", &LevelCosts::without, "node"_a, "keys"_a, "gone"_a, "word"_a, "shift"_a, "mask"_a,
           "rest"_a.none());
}

}  // namespace shoal
