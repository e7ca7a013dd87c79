// Mondrian for k alone (LeFevre, DeWitt, Ramakrishnan, ICDE 2006): the widest axis is cut at its median.
#include "_parts.hpp"

using namespace nb::literals;

namespace shoal {
namespace {

constexpr int kMostDigits = 11;  // histograms of 2^11 counters stay in the nearest cache

// The value at which counting the rows from the lowest value on reaches a number, and how many lie below and at it.
struct Reached {
  int32_t value;
  int64_t below, here;
};

template <typename T> class MedianCutter : public Cutter<T> {
 public:
  MedianCutter(Rows<T>& rows, const std::vector<Axis>& axes, int64_t k, bool relaxed)
      : Cutter<T>(rows, axes, k), relaxed_(relaxed) {}

 private:
  using Cutter<T>::rows_, Cutter<T>::axes_, Cutter<T>::low_, Cutter<T>::high_, Cutter<T>::histogram_;
  using Cutter<T>::fits, Cutter<T>::cut_after, Cutter<T>::cut_to_children, Cutter<T>::give_sides;
  const bool relaxed_;
  std::vector<size_t> order_;
  std::vector<double> widths_;

  bool cut_somewhere(Part& part, const Give& give) override {
    widths_.resize(axes_.size());
    order_.clear();
    for (size_t a = 0; a < axes_.size(); ++a) {
      if (low_[a] == high_[a]) continue;
      widths_[a] = axes_[a].width(low_[a], high_[a]);
      order_.push_back(a);
    }
    std::stable_sort(order_.begin(), order_.end(), [&](size_t a, size_t b) { return widths_[a] > widths_[b]; });
    for (const size_t a : order_) {
      if (axes_[a].levels > 0) {
        if (cut_to_children(part, a, give)) return true;
      } else if (axes_[a].mixed(low_[a], high_[a])) {
        if (cut_off_null(part, a, give)) return true;
      } else if (relaxed_) {
        halve(part, a, give);
        return true;
      } else if (cut_at_median(part, a, give)) {
        return true;
      }
    }
    if (relaxed_) halve(part, 0, give);
    return relaxed_;
  }

  bool cut_at_median(Part& part, size_t a, const Give& give) {
    const auto read = [&](size_t i) { return static_cast<uint32_t>(rows_.position(i, a)); };
    const Reached median = reach(read, part.begin, part.end, (part.rows + 1) / 2, low_[a], high_[a]);
    if (fits(part, median.below + median.here)) {
      cut_after(part, a, median.value, median.below + median.here, give);
    } else if (fits(part, median.below)) {
      cut_after(part, a, median.value - 1, median.below, give);
    } else {
      return false;
    }
    return true;
  }

  bool cut_off_null(Part& part, size_t a, const Give& give) {
    int64_t known = 0;
    for (size_t i = part.begin; i < part.end; ++i)
      if (rows_.position(i, a) != axes_[a].null) known += rows_.weight_of(i);
    if (!fits(part, known)) return false;
    cut_after(part, a, axes_[a].null - 1, known, give);
    return true;
  }

  // Half of the rows, by their position on this axis, then on all axes in turn, then by their number.
  void halve(Part& part, size_t a, const Give& give) {
    size_t begin = part.begin, end = part.end;
    int64_t wanted = (part.rows + 1) / 2;
    const auto narrow = [&](const auto& read, uint32_t low, uint32_t high) {
      const Reached found = reach(read, begin, end, wanted, low, high);
      const uint32_t value = static_cast<uint32_t>(found.value);
      begin = rows_.split(begin, end, [&](size_t i) { return read(i) < value; });
      end = rows_.split(begin, end, [&](size_t i) { return read(i) <= value; });
      wanted -= found.below;
      return found;
    };
    const auto along = [&](size_t b) {
      return narrow([&](size_t i) { return static_cast<uint32_t>(rows_.position(i, b)); }, low_[b], high_[b]);
    };
    const Reached median = along(a);
    const int32_t first = wanted < median.here ? median.value : median.value + 1;
    for (size_t b = 0; b < axes_.size(); ++b) along(b);
    narrow([&](size_t i) { return rows_.item[i]; }, 0, static_cast<uint32_t>(rows_.item.size() - 1));
    give_sides(part, a, end, (part.rows + 1) / 2, median.value, first, give);
  }

  // By histograms of ever lower digits, so that a long axis costs a part of few rows no more than some looks at them.
  template <typename Read>
  Reached reach(const Read& read, size_t begin, size_t end, int64_t wanted, uint32_t low, uint32_t high) {
    uint32_t span = high - low;
    const int digits = std::min(kMostDigits, std::max(4, width_of(end - begin)));
    int64_t below = 0;
    for (;;) {
      const int shift = std::max(0, width_of(span) - digits);
      histogram_.assign((span >> shift) + 1, 0);
      for (size_t i = begin; i < end; ++i) {
        const uint32_t value = read(i) - low;
        if (value <= span) histogram_[value >> shift] += rows_.weight_of(i);
      }
      uint32_t digit = 0;
      while (below + histogram_[digit] < wanted) below += histogram_[digit++];
      low += digit << shift;
      if (shift == 0) return {static_cast<int32_t>(low), below, histogram_[digit]};
      span = std::min(span - (digit << shift), (uint32_t{1} << shift) - 1);
    }
  }
};

nb::tuple mondrian(const Words& keys, const In<int64_t>& counts, const In<int32_t>& word, const In<int32_t>& shift,
                   const In<uint64_t>& mask, const std::vector<AxisIn>& axes, int64_t k, bool relaxed) {
  const Task task = task_of(keys, counts, word, shift, mask, axes, k);
  if (relaxed && std::any_of(task.counts, task.counts + task.n, [](int64_t count) { return count != 1; }))
    throw std::invalid_argument("relaxed cuts need single rows");
  return with_narrow_rows(task, [&](auto narrow) {
    using T = decltype(narrow);
    return cut_all<T>(task, [&](Rows<T>& rows) {
      return std::make_unique<MedianCutter<T>>(rows, task.axes, task.k, relaxed);
    });
  });
}

}  // namespace

void bind_mondrian(nb::module_& m) {
  m.def("mondrian", &mondrian, "keys"_a, "counts"_a, "word"_a, "shift"_a, "mask"_a, "axes"_a, "k"_a, "relaxed"_a);
}

}  // namespace shoal
