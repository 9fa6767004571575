// SPDX-License-Identifier: MIT
// Types of another table, as types of this one: what a provider's definition says of
// arguments.
//
// A name that the session has declared means what it means there (D libraries declare the
// types that they translate; programs' definitions often have a stand-in only); other
// names are those of the definition, and no name of the session. Pointers lead to the
// traced process: they are userland. The types may come from a file that lies: nothing
// here recurses deeper than it says.
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

    // owner keeps the type alive; it is kept from here on. What is this table's already
    // stays what it is.
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
