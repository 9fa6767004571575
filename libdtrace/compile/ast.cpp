// SPDX-License-Identifier: MIT
#include "libdtrace/compile/ast.hpp"

namespace dt {

std::string_view op_text(Op op)
{
    switch (op) {
#define X(name, text)                                                                  \
    case Op::name:                                                                     \
        return text;
        D_OPERATORS(X)
#undef X
    }
    return "?";
}

std::string assign_text(Op op)
{
    return op == Op::None ? "=" : std::string(op_text(op)) + "=";
}

std::string scoped_name(Scope scope, const std::string& name)
{
    switch (scope) {
    case Scope::Self:
        return "self->" + name;
    case Scope::This:
        return "this->" + name;
    case Scope::Global:
        break;
    }
    return name;
}

} // namespace dt
