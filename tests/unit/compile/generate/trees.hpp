// SPDX-License-Identifier: MIT
// Builds typed syntax trees, as check() does. Identifiers live as long as the Trees
// object.
#pragma once

#include "dif/actions.h"
#include "dif/ops.h"
#include "dif/vars.h"
#include "libdtrace/compile/generate/generate.hpp"

#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace dt::gen {

class Trees {
public:
    TypeTable types;
    CompileOptions options;

    Ident& variable(std::string name, std::uint32_t id, const Type* type,
                    Scope scope = Scope::Global, IdentKind kind = IdentKind::Scalar)
    {
        Ident& out = idents_.emplace_back();
        out.kind = kind;
        out.scope = scope;
        out.name = std::move(name);
        out.id = id;
        out.type = type;
        return out;
    }

    NodePtr node(NodeKind kind, const Type* type)
    {
        auto out = std::make_unique<Node>();
        out->kind = kind;
        out->type = type;
        out->at = {1, 1};
        return out;
    }

    NodePtr number(std::uint64_t value)
    {
        NodePtr out = node(NodeKind::Integer, types.int_type());
        out->value = value;
        out->is_constant = true;
        return out;
    }

    NodePtr text(std::string value)
    {
        NodePtr out = node(NodeKind::String, types.string_type());
        out->text = std::move(value);
        return out;
    }

    NodePtr name(Ident& ident)
    {
        NodePtr out = node(NodeKind::Ident, ident.type);
        out->ident = &ident;
        out->scope = ident.scope;
        out->is_lvalue = true;
        return out;
    }

    NodePtr binary(Op op, NodePtr left, NodePtr right)
    {
        bool truth = op >= Op::Lt && op <= Op::LogXor;
        NodePtr out = node(NodeKind::Binary, truth ? types.int_type() : left->type);
        out->op = op;
        out->operand_type = left->type;
        out->string_compare = truth && left->type->is_string();
        out->left = std::move(left);
        out->right = std::move(right);
        return out;
    }

    NodePtr assign(NodePtr left, NodePtr right, Op op = Op::None)
    {
        NodePtr out = node(NodeKind::Assign, left->type);
        out->op = op;
        out->operand_type = left->type;
        out->left = std::move(left);
        out->right = std::move(right);
        return out;
    }

    NodePtr step(NodeKind kind, Op op, NodePtr left, std::uint64_t by = 1)
    {
        NodePtr out = node(kind, left->type);
        out->op = op;
        out->value = by;
        out->left = std::move(left);
        return out;
    }

    NodePtr unary(Op op, NodePtr left, const Type* type)
    {
        NodePtr out = node(NodeKind::Unary, type);
        out->op = op;
        out->left = std::move(left);
        return out;
    }

    NodePtr element(Ident& array, std::vector<NodePtr> keys)
    {
        NodePtr out = node(NodeKind::Index, array.type);
        out->left = name(array);
        out->args = std::move(keys);
        return out;
    }

    NodePtr call(Ident& ident, std::vector<NodePtr> args)
    {
        NodePtr out = node(NodeKind::Call, ident.type);
        out->text = ident.name;
        out->ident = &ident;
        out->args = std::move(args);
        return out;
    }

    template <class... Nodes> std::vector<NodePtr> list(Nodes... nodes)
    {
        std::vector<NodePtr> out;
        (out.push_back(std::move(nodes)), ...);
        return out;
    }

    // Returns the DIF object for an expression.
    std::shared_ptr<Difo> dif(const NodePtr& expr)
    {
        return ExprGenerator::generate(options, *expr, dif_type_of(expr->type, false));
    }

private:
    std::deque<Ident> idents_;
};

} // namespace dt::gen
