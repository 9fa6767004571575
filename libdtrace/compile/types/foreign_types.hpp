// SPDX-License-Identifier: MIT
// Converts types from another type table to types of the session's table, for the
// arguments in a provider's definition.
//
// If the session has declared a type of the same name, that type is used. Any other
// type becomes a new type, whose name D programs cannot use. Pointers are userland,
// because they refer to the traced process. The types may come from an untrusted file,
// so the recursion depth is limited.
#pragma once

#include "libdtrace/compile/types/types.hpp"

#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace dt {

class ForeignTypes {
public:
    explicit ForeignTypes(TypeTable& types) : types_(types) {}

    // Returns the corresponding type of the session's table. `owner` keeps the original
    // type alive, and this object keeps `owner` alive. A type of the session's table is
    // returned unchanged.
    const Type* type(const Type* of, const std::shared_ptr<const TypeTable>& owner);

private:
    const Type* make(const Type* of, int depth);
    const Type* make_tagged(const Type* of);
    const Type* make_typedef(const Type* of, int depth);
    const Type* declared(const std::string& name, const Type* of) const;

    TypeTable& types_;
    std::unordered_set<std::shared_ptr<const TypeTable>> owners_;
    std::unordered_map<const Type*, Type*> made_;
    std::vector<std::pair<const Type*, Type*>> to_fill_;
};

} // namespace dt
