// SPDX-License-Identifier: MIT
// Converts types from the debug data of the traced process and of the kernel to D
// types.
//
// complete() converts the members of a struct. So the conversion of a pointer does not
// convert all types that can be reached from the pointer. Types that D also has, such
// as int, become D's types. Pointers in a process's types are userland; pointers in
// the kernel's types are not.
//
// The data are untrusted. A type becomes void if it contains itself, is nested too
// deeply or consists of too many types. A member outside its struct is omitted. So
// recursive functions can safely walk the resulting types.
#pragma once

#include "libdtrace/compile/types/types.hpp"
#include "libdtrace/symbols/debug/debug_types.hpp"

#include <map>
#include <unordered_map>
#include <unordered_set>

namespace dt {

class TargetTypes {
public:
    explicit TargetTypes(TypeTable& types) : types_(types) {}

    TypeTable& table() { return types_; }
    // Qualifies a type as userland: loads of its values read the memory of the traced
    // process.
    const Type* in_process(const Type* type)
    {
        return types_.qualified(type, false, false, true);
    }
    // Returns the D type of an entry in the debug data, and completes the type.
    const Type* type(DebugTypes& from, DebugRef ref);
    // Fills in the members of a struct or union. Follows typedefs, pointers and arrays.
    void complete(const Type* type);

private:
    struct Body {
        DebugTypes* from = nullptr;
        DebugRef ref = 0;
        Type* into = nullptr;
    };
    // The depth of a recursive walk over a type, and the number of types that the walk
    // visits. Members are not counted.
    struct Extent {
        int height = 0;
        std::uint32_t n_types = 1;
    };
    const Type* make(DebugTypes& from, DebugRef ref, int depth);
    const Type* make_described(DebugTypes& from, DebugRef ref,
                               const DebugType& described, int depth);
    bool measure(const Type* type);
    Extent extent(const Type* type) const;
    const Type* make_scalar(const DebugType& described);
    const Type* make_opaque(const DebugType& described);
    const Type* make_array(DebugTypes& from, const DebugType& described, int depth);
    const Type* make_tagged(DebugTypes& from, DebugRef ref, const DebugType& described);
    const Type* make_enum(const DebugType& described);
    const Type* make_typedef(DebugTypes& from, const DebugType& described, int depth);
    const Type* make_function(DebugTypes& from, const DebugType& described, int depth);
    void fill(Body body, int depth);
    bool fill_member(DebugMember&& member, const Body& body, int depth);
    // Completes a type and the types of its members. Returns false if the type is
    // already being completed, or if it is nested too deeply.
    bool complete_value(const Type* type, int depth);

    TypeTable& types_;
    std::map<DebugTypes*, std::unordered_map<DebugRef, const Type*>> made_;
    // structs and unions whose members have not been filled in yet
    std::unordered_map<const Type*, Body> bodies_;
    std::unordered_set<const Type*> filling_;
    std::unordered_map<const Type*, Extent> extents_;
    // number of members of each struct, including those of nested structs
    std::unordered_map<const Type*, std::uint32_t> n_parts_;
};

} // namespace dt
