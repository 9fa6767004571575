// SPDX-License-Identifier: MIT
// Facts about a subtree, computed once per node before its code is generated: how many
// registers it needs at the same time (Sethi-Ullman numbers), whether it flushes the
// tuple (generate.hpp), and whether it has side effects. Also limits how deep
// expressions may nest.
#pragma once

#include "libdtrace/compile/ast.hpp"

#include <unordered_map>

namespace dt {

class TreeFacts {
public:
    struct Facts {
        // number of registers needed at the same time, including that of the result
        int registers = 1;
        bool uses_tuple = false; // the subtree flushes the tuple (generate.hpp)
        // the subtree changes a variable, memory or the state of a subroutine
        bool has_effects = false;
    };

    explicit TreeFacts(int n_registers) : n_registers_(n_registers) {}

    // Returns the facts about a subtree. Throws D_CG_EXPR if it is nested too deeply.
    const Facts& of(const Node& node);
    // Returns whether the right operand is evaluated before the left one.
    bool right_first(const Node& left, const Node& right);

private:
    Facts compute(const Node& node);

    int n_registers_;
    std::unordered_map<const Node*, Facts> facts_;
    int depth_ = 0;
};

} // namespace dt
