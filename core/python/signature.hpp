// Functions bound by their Python signatures: def<"name(first, second)">(module, &function).
#pragma once

#include <string_view>

#include "python/named_tuple.hpp"

namespace sparsebody {

// The words of "name(first, second?)", each ended by a zero: the name, then the arguments. A question mark after an
// argument allows None.
template <std::size_t length>
struct Signature {
  char text[length];
  std::size_t first[length]{}, n_words = 0;
  bool may_be_none[length]{};

  consteval Signature(const char (&signature)[length]) {
    for (std::size_t i = 0; i < length; ++i) {
      const bool is_separator = std::string_view("(,? )").find(signature[i]) != std::string_view::npos;
      text[i] = is_separator ? '\0' : signature[i];
      if (text[i] != '\0' && (i == 0 || text[i - 1] == '\0')) first[n_words++] = i;
      if (signature[i] == '?') may_be_none[n_words - 1] = true;
    }
  }
};

template <Signature signature, std::size_t word, bool is_viewed = false>
constexpr auto argument() {
  constexpr nb::arg name(signature.text + signature.first[word]);
  if constexpr (is_viewed && signature.may_be_none[word]) return name.noconvert().none();
  else if constexpr (is_viewed) return name.noconvert();
  else if constexpr (signature.may_be_none[word]) return name.none();
  else return name;
}

// Binds a function, or a method of a class.
template <Signature signature, class Scope, class F, class... Extra>
void def(Scope& scope, F&& f, const Extra&... extra) {
  [&]<std::size_t... k>(std::index_sequence<k...>) {
    scope.def(signature.text, std::forward<F>(f), argument<signature, k + 1>()..., extra...);
  }(std::make_index_sequence<signature.n_words - 1>());
}

// Binds a function that may take longer than a few microseconds: the GIL is released while it runs.
template <Signature signature, class Scope, class F, class... Extra>
void def_kernel(Scope& scope, F&& f, const Extra&... extra) {
  def<signature>(scope, std::forward<F>(f), nb::call_guard<nb::gil_scoped_release>(), extra...);
}

// Constructs an object in place.
template <class Class, class... Arguments>
constexpr auto construct = [](Class* self, Arguments... argument) { new (self) Class{argument...}; };

// Binds the constructor of an object that holds views of its arguments: Python keeps them as long as the object, and an
// array that would have to be converted is refused, for its copy would not be what the caller writes into.
template <Signature signature, class Class, class F>
void def_keeping(nb::class_<Class>& type, F&& make) {
  [&]<std::size_t... k>(std::index_sequence<k...>) {
    type.def(signature.text, std::forward<F>(make), argument<signature, k + 1, true>()..., nb::keep_alive<1, k + 2>()...);
  }(std::make_index_sequence<signature.n_words - 1>());
}

// Binds the constructor of a struct of views from its members.
template <Signature signature, class Struct>
void def_members(nb::class_<Struct>& type) {
  [&]<class... Members>(std::type_identity<std::tuple<Members...>>) {
    def_keeping<signature>(type, construct<Struct, const Members&...>);
  }(std::type_identity<MembersOf<Struct>>());
}

}  // namespace sparsebody
