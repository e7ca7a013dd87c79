// What the files of the compiled core share: arrays in and out, threads, and where a code lies in a packed key.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <thread>
#include <vector>

namespace nb = nanobind;

namespace shoal {

template <typename T> using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T> using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Words = Matrix<uint64_t>;

void bind_c45(nb::module_& m);
void bind_join(nb::module_& m);
void bind_lattice(nb::module_& m);
void bind_mondrian(nb::module_& m);
void bind_removal(nb::module_& m);
void bind_target(nb::module_& m);

// Hands a vector to NumPy without copying it.
template <typename T, typename Vector>
nb::object to_numpy(Vector&& vector, std::vector<size_t> shape) {
  auto* kept = new std::decay_t<Vector>(std::move(vector));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::decay_t<Vector>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T>(kept->data(), shape.size(), shape.data(), owner));
}

inline unsigned cores() { return std::max(1u, std::thread::hardware_concurrency()); }

// Runs `work(part, parts)` on all cores; the first exception is passed on.
template <typename Work> void on_all_cores(Work work) {
  const size_t parts = cores();
  std::vector<std::exception_ptr> wrong(parts);
  std::vector<std::thread> threads;
  for (size_t p = 0; p < parts; ++p)
    threads.emplace_back([&, p] {
      try {
        work(p, parts);
      } catch (...) {
        wrong[p] = std::current_exception();
      }
    });
  for (auto& thread : threads) thread.join();
  for (const auto& error : wrong)
    if (error) std::rethrow_exception(error);
}

struct Layout {
  const int32_t *word, *shift;
  const uint64_t* mask;
  size_t fields;
};

inline int width_of(uint64_t mask) {
  int width = 0;
  for (; mask != 0; mask >>= 1) ++width;
  return width;
}

// Refuses what would read or write outside of a key.
inline Layout layout(const In<int32_t>& word, const In<int32_t>& shift, const In<uint64_t>& mask, size_t words) {
  if (word.size() != shift.size() || word.size() != mask.size()) throw std::invalid_argument("uneven layout");
  for (size_t f = 0; f < word.size(); ++f) {
    const uint64_t bits = mask.data()[f];
    if (bits == 0 || bits > UINT32_MAX || (bits & (bits + 1)) != 0)
      throw std::invalid_argument("a mask is 1 to 32 bits, all set");
    if (word.data()[f] < 0 || static_cast<size_t>(word.data()[f]) >= words || shift.data()[f] < 0 ||
        shift.data()[f] + width_of(bits) > 64)
      throw std::invalid_argument("a field lies outside of the key");
  }
  return {word.data(), shift.data(), mask.data(), word.size()};
}

}  // namespace shoal
