// How many rows of each class must go before what is left of it can keep a promise about its sensitive values.
//
// Counts per class and value come in long form.  Rounding errs towards fewer rows, so that each answer is a lower bound;
// the proofs are with the models.
#include "_shared.hpp"

#include <cmath>
#include <functional>

using namespace nb::literals;
using namespace shoal;

namespace {

constexpr double kSlack = 1e-12, kRow = 1e-6;

// The greatest whole number of rows that is not above `rows`, but for rounding.
double whole(double rows) { return std::floor(rows * (1 + kSlack) + kRow); }

// What is counted of one class: how often each of some values occurs in it.
struct Counts {
  std::vector<int32_t> values;
  std::vector<double> rows;
  double total = 0;

  size_t size() const { return rows.size(); }
  void clear() {
    values.clear();
    rows.clear();
    total = 0;
  }
};

// Counts per class and value, and which rows of each class are known to go.
struct Table {
  const In<int64_t>&rows, &gone;
  const In<int32_t>&classes, &values;
  const In<int64_t>& counts;
  const In<bool>& counted;  // whether a value counts: null may not
  int64_t least;            // rows that a class needs to be kept

  // Raises what goes of each class to what `removed(counts of the class, its rows)` says; all of a class of which too
  // few rows are left.
  template <typename Removed> nb::object raise(const Removed& removed) const {
    const size_t classes_count = rows.size(), n = classes.size();
    if (gone.size() != classes_count) throw std::invalid_argument("a number per class is needed");
    if (values.size() != n || counts.size() != n) throw std::invalid_argument("a value and a count per entry is needed");
    for (size_t i = 0; i < n; ++i)
      if (static_cast<uint32_t>(classes.data()[i]) >= classes_count ||
          static_cast<uint32_t>(values.data()[i]) >= counted.size())
        throw std::invalid_argument("a class or a value that is not known");
    const std::vector<uint32_t> order = by_class(classes_count);
    std::vector<int64_t> out(gone.data(), gone.data() + classes_count);
    Counts one;
    for (size_t c = 0, at = 0; c < classes_count; ++c) {
      one.clear();
      for (; at < n; ++at) {
        const size_t i = order.empty() ? at : order[at];
        if (static_cast<size_t>(classes.data()[i]) != c) break;
        const int32_t value = values.data()[i];
        if (!counted.data()[value]) continue;
        one.values.push_back(value);
        one.rows.push_back(static_cast<double>(counts.data()[i]));
        one.total += one.rows.back();
      }
      const int64_t all = rows.data()[c];
      if (out[c] < all) out[c] = std::max(out[c], std::min(removed(one, all), all));
      if (all - out[c] < least) out[c] = all;
    }
    return to_numpy<int64_t>(std::move(out), {classes_count});
  }

 private:
  // The entries sorted by class; empty where they are.
  std::vector<uint32_t> by_class(size_t classes_count) const {
    const size_t n = classes.size();
    if (std::is_sorted(classes.data(), classes.data() + n)) return {};
    std::vector<uint32_t> next(classes_count + 1, 0), order(n);
    for (size_t i = 0; i < n; ++i) ++next[static_cast<size_t>(classes.data()[i]) + 1];
    for (size_t c = 0; c < classes_count; ++c) next[c + 1] += next[c];
    for (size_t i = 0; i < n; ++i) order[next[static_cast<size_t>(classes.data()[i])]++] = static_cast<uint32_t>(i);
    return order;
  }
};

// The most rows M that can stay: M <= n/lower for every value, and Σ min(n, upper M) >= share M.  The second is concave
// in M, so Newton's steps from above stay above.  Where the share is 1, M = Σ m of whole numbers m <= upper M, so that M
// is lowered further until they fit.
double most_within(const Counts& counts, const double* upper, const double* lower, size_t bounded, double share) {
  double most = counts.total;
  if (lower != nullptr) {
    for (size_t e = 0; e < counts.size(); ++e)
      if (lower[counts.values[e]] > 0) {
        most = std::min(most, whole(counts.rows[e] / lower[counts.values[e]]));
        --bounded;
      }
    if (bounded > 0) return 0;  // a value that must be there is not
  }
  for (size_t step = 0; step <= counts.size() && most > 0; ++step) {
    double free = 0, slope = 0;
    for (size_t e = 0; e < counts.size(); ++e) {
      const double limit = upper[counts.values[e]];
      if (counts.rows[e] > limit * most) slope += limit;
      else free += counts.rows[e];
    }
    if (free + slope * most >= share * most * (1 - kSlack) || slope >= share) break;
    most = std::min(most, free / (share - slope));
  }
  most = whole(most);
  while (share == 1 && most > 0) {
    double fits = 0;
    for (size_t e = 0; e < counts.size(); ++e) fits += std::min(counts.rows[e], whole(upper[counts.values[e]] * most));
    if (fits >= most) break;
    most = fits;
  }
  return most;
}

nb::object remove_for_shares(const In<int64_t>& rows, const In<int64_t>& gone, const In<int32_t>& classes,
                             const In<int32_t>& values, const In<int64_t>& counts, const In<bool>& counted,
                             int64_t least, const In<double>& upper, const std::optional<In<double>>& lower,
                             double share) {
  if (upper.size() != counted.size() || (lower && lower->size() != counted.size()))
    throw std::invalid_argument("a limit per value is needed");
  const double* low = lower ? lower->data() : nullptr;
  size_t bounded = 0;
  for (size_t v = 0; lower && v < counted.size(); ++v) bounded += counted.data()[v] && low[v] > 0;
  return Table{rows, gone, classes, values, counts, counted, least}.raise([&](const Counts& one, int64_t) {
    const double most = most_within(one, upper.data(), low, bounded, share);
    return static_cast<int64_t>(one.total - std::min(most, one.total));
  });
}

// n ln n, of small n from a table.
double log_of(double n) {
  static const std::vector<double> small = [] {
    std::vector<double> table(4096, 0.0);
    for (size_t i = 1; i < table.size(); ++i) table[i] = static_cast<double>(i) * std::log(static_cast<double>(i));
    return table;
  }();
  return n < 4095.5 && n == std::floor(n) ? small[static_cast<size_t>(n)] : n * std::log(n);
}

// The most rows that can stay with an entropy of at least `least`.  Of all ways to keep M rows min(n, cap) of each value
// is the evenest, and a lower cap is evener still: so the cap is found by halving.
double most_even(std::vector<double>& sizes, double least) {
  constexpr double kNear = 1e-9;
  double total = 0, spread = 0;
  for (const double n : sizes) {
    total += n;
    spread += log_of(n);
  }
  if (std::log(total) - spread / total >= least - kNear) return total;
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  // with the cap at the size of the value `above`, those before it are cut; `rows` and `logs` are of all from it on
  const size_t last = sizes.size() - 1;
  double rows = total, logs = spread;
  size_t above = 0;
  const auto fits = [&](double cap) {
    const double kept = static_cast<double>(above) * cap + rows;
    return std::log(kept) - (static_cast<double>(above) * cap * std::log(cap) + logs) / kept >= least - kNear;
  };
  do {
    rows -= sizes[above];
    logs -= log_of(sizes[above]);
    ++above;
  } while (above < last && !fits(sizes[above]));
  double low = sizes[above], high = sizes[above - 1];
  constexpr int kHalvings = 8;
  for (int step = 0; step < kHalvings; ++step) {
    const double middle = (low + high) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return whole(static_cast<double>(above) * high + rows);
}

// All of a class with fewer than `fewest` values.
nb::object remove_for_entropy(const In<int64_t>& rows, const In<int64_t>& gone, const In<int32_t>& classes,
                              const In<int32_t>& values, const In<int64_t>& counts, const In<bool>& counted,
                              int64_t least, double entropy, size_t fewest) {
  std::vector<double> sizes;
  return Table{rows, gone, classes, values, counts, counted, least}.raise([&](const Counts& one, int64_t all) {
    if (one.size() < std::max<size_t>(fewest, 1)) return all;
    if (one.size() == 1) return int64_t{0};
    sizes = one.rows;
    return static_cast<int64_t>(one.total - std::min(most_even(sizes, entropy), one.total));
  });
}

// Every value that is left has fewer rows than over/under times the rows from the `rank`-th most frequent value on.
nb::object remove_for_tail(const In<int64_t>& rows, const In<int64_t>& gone, const In<int32_t>& classes,
                           const In<int32_t>& values, const In<int64_t>& counts, const In<bool>& counted, int64_t least,
                           size_t rank, int64_t over, int64_t under) {
  if (rank < 1 || over < 1 || under < 1) throw std::invalid_argument("a rank and a positive fraction are needed");
  std::vector<double> sizes;
  return Table{rows, gone, classes, values, counts, counted, least}.raise([&](const Counts& one, int64_t all) {
    if (one.size() < rank) return all;
    sizes = one.rows;
    std::nth_element(sizes.begin(), sizes.begin() + (rank - 1), sizes.end(), std::greater<>());
    double tail = 0;
    for (size_t i = rank - 1; i < sizes.size(); ++i) tail += sizes[i];
    if (tail >= 9e18 / static_cast<double>(over)) throw std::length_error("too many rows for this fraction");
    const int64_t most = (static_cast<int64_t>(tail) * over - 1) / under;
    int64_t removed = 0;
    for (const double n : sizes) removed += std::max<int64_t>(0, static_cast<int64_t>(n) - most);
    return removed;
  });
}

}  // namespace

namespace shoal {

void bind_removal(nb::module_& m) {
  m.def("remove_for_shares", &remove_for_shares, "rows"_a, "gone"_a, "classes"_a, "values"_a, "counts"_a, "counted"_a,
        "least"_a, "upper"_a, "lower"_a.none(), "share"_a);
  m.def("remove_for_entropy", &remove_for_entropy, "rows"_a, "gone"_a, "classes"_a, "values"_a, "counts"_a, "counted"_a,
        "least"_a, "entropy"_a, "fewest"_a);
  m.def("remove_for_tail", &remove_for_tail, "rows"_a, "gone"_a, "classes"_a, "values"_a, "counts"_a, "counted"_a,
        "least"_a, "rank"_a, "over"_a, "under"_a);
}

}  // namespace shoal
