// Memory of tensors, which come and go by the thousand in a run: a block that is free is kept for the next tensor of its
// size, as the system would clear each page of it anew.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace dgc::verify {

/// A block of at least so many bytes, and one that is given back, with the same number.
void *takeBlock(size_t bytes);
void giveBlock(void *block, size_t bytes) noexcept;

template <typename T> struct PooledAllocator {
  using value_type = T;

  PooledAllocator() = default;
  template <typename U> PooledAllocator(const PooledAllocator<U> &) {}

  T *allocate(size_t n) {
    if (n > static_cast<size_t>(-1) / 2 / sizeof(T))
      throw std::bad_array_new_length();
    return static_cast<T *>(takeBlock(n * sizeof(T)));
  }
  /// Elements that no value is given for have any.
  template <typename U> void construct(U *at) const noexcept { ::new (static_cast<void *>(at)) U; }
  void deallocate(T *block, size_t n) noexcept { giveBlock(block, n * sizeof(T)); }
  template <typename U> bool operator==(const PooledAllocator<U> &) const { return true; }
};

template <typename T> using Elements = std::vector<T, PooledAllocator<T>>;

} // namespace dgc::verify
