// Target-aware Mondrian for k alone (LeFevre, DeWitt, Ramakrishnan, TODS 2008): the cut whose sides differ least in a
// target, of all cuts that leave k rows on every side.
#include "_parts.hpp"

#include <cmath>

using namespace nb::literals;

namespace shoal {
namespace {

constexpr double kTies = 1e9;  // impurities per row that agree to nine decimals are ties, as in target.py

// x ln x of whole numbers; small ones, which are most, are looked up.
class Nats {
 public:
  Nats() : small_(1 << 13) {
    for (size_t x = 2; x < small_.size(); ++x) small_[x] = static_cast<double>(x) * std::log(static_cast<double>(x));
  }
  double operator()(double x) const {
    return x < static_cast<double>(small_.size()) ? small_[static_cast<size_t>(x)] : x * std::log(x);
  }

 private:
  std::vector<double> small_;
};

// n times the entropy of the values among n rows: f(n) - Σ f(n_v) with f(x) = x ln x.
class Entropy {
 public:
  struct Data {
    const int64_t* begin;  // where the entries of each item begin
    const int32_t* values;
    const int64_t* counts;
    size_t size;
  };

  explicit Entropy(const Data& data) : data_(data), whole_(data.size), left_(data.size) {}

  // Forgets all; then every item of a part is counted.
  void start() {
    for (const int32_t value : seen_) whole_[value] = left_[value] = 0;
    seen_.clear();
    rows_ = 0;
  }

  void count(uint32_t item) {
    each(item, [&](int32_t value, double rows) {
      if (whole_[value] == 0) seen_.push_back(value);
      whole_[value] += rows;
      rows_ += rows;
    });
  }

  // Everything lies on the right side; then item after item goes to the left.
  void sweep() {
    lefts_ = gained_ = lost_ = 0;
    for (const int32_t value : seen_) {
      left_[value] = 0;
      lost_ += nats(whole_[value]);
    }
  }

  void move(uint32_t item) {
    each(item, [&](int32_t value, double rows) { move(value, rows); });
  }

  // Rows of one position can be put together in a cell and moved together.
  size_t cell_size() const { return data_.size; }
  void make_cells(size_t cells) { cells_.assign(cells * data_.size, 0); }
  void put(size_t cell, uint32_t item) {
    each(item, [&](int32_t value, double rows) { cells_[cell * data_.size + value] += rows; });
  }
  void move_cell(size_t cell) {
    for (size_t value = 0; value < data_.size; ++value)
      if (cells_[cell * data_.size + value] > 0) move(static_cast<int32_t>(value), cells_[cell * data_.size + value]);
  }

  double left() const { return nats(lefts_) - gained_; }
  double right() const { return nats(rows_ - lefts_) - lost_; }

  // What is on the left is put away, for a cut into several sides.
  void put_away() {
    lefts_ = gained_ = 0;
    for (const int32_t value : seen_) left_[value] = 0;
  }

 private:
  Data data_;
  Nats nats;
  std::vector<double> whole_, left_, cells_;
  std::vector<int32_t> seen_;
  double rows_ = 0, lefts_ = 0, gained_ = 0, lost_ = 0;

  void move(int32_t value, double rows) {
    const double before = left_[value], after = before + rows, whole = whole_[value];
    gained_ += nats(after) - nats(before);
    lost_ -= nats(whole - before) - nats(whole - after);
    left_[value] = after;
    lefts_ += rows;
  }

  template <typename Each> void each(uint32_t item, Each then) {
    for (int64_t e = data_.begin[item]; e < data_.begin[item + 1]; ++e)
      then(data_.values[e], static_cast<double>(data_.counts[e]));
  }
};

// The sum of squared distances from the mean: Σ x² - (Σ x)² / n.
class Squares {
 public:
  struct Data {
    const double *rows, *sums, *squares;  // of each item
  };

  explicit Squares(const Data& data) : data_(data) {}

  void start() { whole_ = {}; }
  void count(uint32_t item) { whole_.add(data_, item); }
  void sweep() { left_ = {}; }
  void move(uint32_t item) { left_.add(data_, item); }
  double left() const { return left_.spread(); }
  double right() const {
    return Moments{whole_.rows - left_.rows, whole_.sum - left_.sum, whole_.square - left_.square}.spread();
  }
  void put_away() { left_ = {}; }
  size_t cell_size() const { return 1; }
  void make_cells(size_t cells) { cells_.assign(cells, {}); }
  void put(size_t cell, uint32_t item) { cells_[cell].add(data_, item); }
  void move_cell(size_t cell) { left_.add(cells_[cell]); }

 private:
  struct Moments {
    double rows = 0, sum = 0, square = 0;
    void add(const Data& data, uint32_t item) {
      rows += data.rows[item];
      sum += data.sums[item];
      square += data.squares[item];
    }
    void add(const Moments& other) {
      rows += other.rows;
      sum += other.sum;
      square += other.square;
    }
    double spread() const { return square - sum * sum / std::max(rows, 1.0); }
  };
  Data data_;
  Moments whole_, left_;
  std::vector<Moments> cells_;
};

template <typename T, typename Impurity> class TargetCutter : public Cutter<T> {
 public:
  TargetCutter(Rows<T>& rows, const std::vector<Axis>& axes, int64_t k, const typename Impurity::Data& data)
      : Cutter<T>(rows, axes, k), impurity_(data) {}

 private:
  using Cutter<T>::rows_, Cutter<T>::axes_, Cutter<T>::low_, Cutter<T>::high_, Cutter<T>::histogram_, Cutter<T>::k_;
  using Cutter<T>::fits, Cutter<T>::cut_after, Cutter<T>::cut_to_children, Cutter<T>::ranks;

  struct Cut {
    double cost = std::numeric_limits<double>::infinity();
    size_t axis = 0;
    int32_t last = -1;
    int64_t rows = 0;
  };
  // All rows of the part that share a position.
  struct Stop {
    int32_t position;
    int64_t rows;
    size_t begin, end;  // in order_, where no cells were made
  };
  Impurity impurity_;
  std::vector<uint32_t> order_;
  std::vector<Stop> stops_;
  bool cells_ = false;

  bool cut_somewhere(Part& part, const Give& give) override {
    impurity_.start();
    for (size_t i = part.begin; i < part.end; ++i) impurity_.count(rows_.item[i]);
    Cut best;
    for (size_t a = 0; a < axes_.size(); ++a) {
      if (low_[a] == high_[a]) continue;
      find_stops(part, a);
      impurity_.sweep();
      if (axes_[a].levels > 0)
        offer_children(part, a, best);
      else
        offer_positions(part, a, best);
    }
    if (std::isinf(best.cost)) return false;
    if (axes_[best.axis].levels > 0) return cut_to_children(part, best.axis, give);
    cut_after(part, best.axis, best.last, best.rows, give);
    return true;
  }

  // The positions of the part from left to right; where they are few beside its rows, these are put together in cells.
  void find_stops(const Part& part, size_t a) {
    const size_t n = part.end - part.begin, length = static_cast<size_t>(high_[a] - low_[a]) + 1;
    stops_.clear();
    cells_ = 2 * length * impurity_.cell_size() <= n;
    if (cells_) {
      impurity_.make_cells(length);
      histogram_.assign(length, 0);
      for (size_t i = part.begin; i < part.end; ++i) {
        const size_t cell = rows_.position(i, a) - low_[a];
        histogram_[cell] += rows_.weight_of(i);
        impurity_.put(cell, rows_.item[i]);
      }
      for (size_t cell = 0; cell < length; ++cell)
        if (histogram_[cell] > 0) stops_.push_back({low_[a] + static_cast<int32_t>(cell), histogram_[cell], 0, 0});
      return;
    }
    sort(part, a);
    for (size_t at = 0; at < n; ++at) {
      const int32_t position = rows_.position(order_[at], a);
      if (stops_.empty() || stops_.back().position != position) stops_.push_back({position, 0, at, at});
      stops_.back().rows += rows_.weight_of(order_[at]);
      stops_.back().end = at + 1;
    }
  }

  // The rows of the part from left to right.
  void sort(const Part& part, size_t a) {
    const size_t n = part.end - part.begin, length = static_cast<size_t>(high_[a] - low_[a]) + 1;
    order_.resize(n);
    if (length > 4 * n) {
      std::iota(order_.begin(), order_.end(), static_cast<uint32_t>(part.begin));
      std::sort(order_.begin(), order_.end(), [&](uint32_t i, uint32_t j) {
        return std::make_pair(rows_.position(i, a), i) < std::make_pair(rows_.position(j, a), j);
      });
      return;
    }
    histogram_.assign(length + 1, 0);
    for (size_t i = part.begin; i < part.end; ++i) ++histogram_[rows_.position(i, a) - low_[a] + 1];
    std::partial_sum(histogram_.begin(), histogram_.end(), histogram_.begin());
    for (size_t i = part.begin; i < part.end; ++i)
      order_[histogram_[rows_.position(i, a) - low_[a]]++] = static_cast<uint32_t>(i);
  }

  void pass(const Stop& stop, size_t a) {
    if (cells_) impurity_.move_cell(stop.position - low_[a]);
    for (size_t at = stop.begin; at < stop.end; ++at) impurity_.move(rows_.item[order_[at]]);
  }

  void offer_positions(const Part& part, size_t a, Cut& best) {
    const bool mixed = axes_[a].mixed(low_[a], high_[a]);
    int64_t left = 0;
    for (size_t s = 0; s + 1 < stops_.size(); ++s) {
      pass(stops_[s], a);
      left += stops_[s].rows;
      if (!fits(part, left) || (mixed && stops_[s + 1].position != axes_[a].null)) continue;
      const int32_t last = mixed ? axes_[a].null - 1 : stops_[s].position;
      offer({per_row(impurity_.left() + impurity_.right(), part), a, last, left}, best);
    }
  }

  void offer_children(const Part& part, size_t a, Cut& best) {
    const int32_t* rank = ranks(a);
    double cost = 0;
    int64_t rows = 0;
    for (size_t s = 0; s < stops_.size(); ++s) {
      pass(stops_[s], a);
      rows += stops_[s].rows;
      if (s + 1 < stops_.size() && rank[stops_[s].position] == rank[stops_[s + 1].position]) continue;
      if (rows < k_) return;
      cost += impurity_.left();
      impurity_.put_away();
      rows = 0;
    }
    offer({per_row(cost, part), a, -1, 0}, best);
  }

  static double per_row(double impurity, const Part& part) {
    return std::nearbyint(impurity / static_cast<double>(part.rows) * kTies);
  }

  // Ties go to the first axis, then to the lower position.
  static void offer(const Cut& cut, Cut& best) {
    if (cut.cost < best.cost) best = cut;
  }
};

template <typename Impurity> nb::tuple find(const Task& task, const typename Impurity::Data& data) {
  return with_narrow_rows(task, [&](auto narrow) {
    using T = decltype(narrow);
    return cut_all<T>(task, [&](Rows<T>& rows) {
      return std::make_unique<TargetCutter<T, Impurity>>(rows, task.axes, task.k, data);
    });
  });
}

nb::tuple least_entropy(const Words& keys, const In<int64_t>& counts, const In<int32_t>& word,
                        const In<int32_t>& shift, const In<uint64_t>& mask, const std::vector<AxisIn>& axes, int64_t k,
                        const In<int64_t>& begin, const In<int32_t>& values, const In<int64_t>& rows, size_t size) {
  const Task task = task_of(keys, counts, word, shift, mask, axes, k);
  if (begin.size() != task.n + 1 || begin.data()[0] != 0 || values.size() != rows.size() ||
      begin.data()[task.n] != static_cast<int64_t>(values.size()))
    throw std::invalid_argument("entries per item are needed");
  for (size_t i = 0; i < task.n; ++i)
    if (begin.data()[i] > begin.data()[i + 1]) throw std::invalid_argument("entries out of order");
  for (size_t e = 0; e < values.size(); ++e)
    if (values.data()[e] < 0 || static_cast<size_t>(values.data()[e]) >= size || rows.data()[e] < 1)
      throw std::invalid_argument("an entry out of range");
  return find<Entropy>(task, {begin.data(), values.data(), rows.data(), size});
}

nb::tuple least_squares(const Words& keys, const In<int64_t>& counts, const In<int32_t>& word,
                        const In<int32_t>& shift, const In<uint64_t>& mask, const std::vector<AxisIn>& axes, int64_t k,
                        const In<double>& rows, const In<double>& sums, const In<double>& squares) {
  const Task task = task_of(keys, counts, word, shift, mask, axes, k);
  if (rows.size() != task.n || sums.size() != task.n || squares.size() != task.n)
    throw std::invalid_argument("sums per item are needed");
  return find<Squares>(task, {rows.data(), sums.data(), squares.data()});
}

}  // namespace

void bind_target(nb::module_& m) {
  m.def("least_entropy", &least_entropy, "keys"_a, "counts"_a, "word"_a, "shift"_a, "mask"_a, "axes"_a, "k"_a,
        "begin"_a, "values"_a, "rows"_a, "size"_a);
  m.def("least_squares", &least_squares, "keys"_a, "counts"_a, "word"_a, "shift"_a, "mask"_a, "axes"_a, "k"_a,
        "rows"_a, "sums"_a, "squares"_a);
}

}  // namespace shoal
