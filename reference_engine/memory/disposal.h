// Freeing things that own long chains of each other, on a bounded stack (TOPO-8).
//
// Note [Disposal]
// ~~~~~~~~~~~~~~~
// A chain of 10^6 nodes is a chain of 10^6 destructors, each called from the one before, if nothing
// is done about it. The links are not only edges: a node owns saved tensors, a tensor owns its
// producing node, a hook owns whatever it captured, and `.grad` may own a graph. Searching a dying
// object for such links misses those that only its destructor knows.
//
// So the destructor runs as it is, and the *start* of a destructor is what is put off. Whatever may
// be part of a chain derives from Disposable and is freed with dispose(). The first call on a
// thread frees its object; a call made meanwhile, from inside that destructor, only puts its object
// in a list of this thread, and the first call frees the list before it returns. The stack holds
// one destructor at a time, whatever the links pass through.
//
// Guaranteed: when the outermost dispose() returns, everything that it set free is gone. Free: the
// order in which the objects go.
#pragma once

#include <cstdint>

namespace gradcts::reference {

class Disposable {
 public:
  Disposable() = default;
  Disposable(const Disposable&) = delete;
  Disposable& operator=(const Disposable&) = delete;
  virtual ~Disposable() = default;

 private:
  friend void dispose(Disposable* object);
  Disposable* next_to_free_ = nullptr;
};

// Frees an object that nobody refers to any more. See Note [Disposal]. Never throws.
void dispose(Disposable* object);

}  // namespace gradcts::reference
