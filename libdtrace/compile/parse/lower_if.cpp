// SPDX-License-Identifier: MIT
// Rewrites if/else as clauses. The engine has no branches between actions, so a clause
// is split at each if, and this->%step selects the piece that runs next:
//
//   p /x/ { a; if (c) { b; } else { d; } e; }
//
//   p /x/                { a; this->%step = c ? 1 : 2; }
//   p /this->%step == 1/ { b; this->%step = 3; }
//   p /this->%step == 2/ { d; this->%step = 3; }
//   p /this->%step == 3/ { e; }
//
// If a piece faults, no later piece runs at that firing. Each number is used only once
// in a session, so a value from another clause never selects a piece of this clause. D
// programs cannot use the variable, because % cannot be part of a name.
#include "libdtrace/compile/passes.hpp"

#include <utility>

namespace dt {

namespace {

constexpr const char* step_name = "%step";

NodePtr step_variable(Place at)
{
    auto node = std::make_unique<Node>();
    node->kind = NodeKind::Ident;
    node->at = at;
    node->scope = Scope::This;
    node->text = step_name;
    return node;
}

bool has_if(const std::vector<Stmt>& statements)
{
    for (const Stmt& statement : statements)
        if (statement.kind == StmtKind::If)
            return true;
    return false;
}

class Cutter {
public:
    Cutter(Clause& whole, TypeTable& types, std::uint32_t& next_step,
           std::vector<std::unique_ptr<Clause>>& pieces)
        : whole_(whole), types_(types), next_step_(next_step), pieces_(pieces)
    {
    }

    void cut()
    {
        open(whole_.at);
        current_->predicate = std::move(whole_.predicate);
        run(std::move(whole_.statements), 0);
    }

private:
    void open(Place at)
    {
        auto piece = std::make_unique<Clause>();
        piece->at = at;
        piece->probes = whole_.probes;
        piece->derived = whole_.derived;
        current_ = piece.get();
        pieces_.push_back(std::move(piece));
    }

    // Starts a new piece, whose predicate is this->%step == step.
    void open_step(std::uint32_t step, Place at)
    {
        open(at);
        auto test = std::make_unique<Node>();
        test->kind = NodeKind::Binary;
        test->op = Op::Eq;
        test->at = at;
        test->left = step_variable(at);
        test->right = number(step, at);
        current_->predicate = std::move(test);
    }

    NodePtr number(std::uint32_t value, Place at) const
    {
        auto node = std::make_unique<Node>();
        node->kind = NodeKind::Integer;
        node->at = at;
        node->value = value;
        node->type = types_.int_type();
        node->text = std::to_string(value);
        return node;
    }

    void go_to(NodePtr step, Place at)
    {
        auto assign = std::make_unique<Node>();
        assign->kind = NodeKind::Assign;
        assign->at = at;
        assign->left = step_variable(at);
        assign->right = std::move(step);
        Stmt statement;
        statement.at = at;
        statement.expr = std::move(assign);
        current_->statements.push_back(std::move(statement));
    }

    // Splits the statements into pieces at each `if`. Each piece becomes a clause. If
    // `after` is not 0, the piece with this number runs after the last statement.
    void run(std::vector<Stmt> statements, std::uint32_t after)
    {
        for (std::size_t i = 0; i < statements.size(); ++i) {
            Stmt& statement = statements[i];
            if (statement.kind == StmtKind::Expr) {
                current_->statements.push_back(std::move(statement));
                continue;
            }
            bool last = i + 1 == statements.size();
            std::uint32_t join = last ? after : next_step_++;
            branch(std::move(statement), join);
            if (last)
                return;
            open_step(join, statements[i + 1].at);
        }
        if (after != 0)
            go_to(number(after, current_->at), current_->at);
    }

    void branch(Stmt statement, std::uint32_t join)
    {
        Place at = statement.at;
        bool has_then = !statement.then_block.empty();
        bool has_else = !statement.else_block.empty();
        std::uint32_t then_step = has_then ? next_step_++ : join;
        std::uint32_t else_step = has_else ? next_step_++ : join;
        auto choice = std::make_unique<Node>();
        choice->kind = NodeKind::Cond;
        choice->at = at;
        choice->cond = std::move(statement.expr);
        choice->left = number(then_step, at);
        choice->right = number(else_step, at);
        go_to(std::move(choice), at);
        if (has_then) {
            open_step(then_step, statement.then_block.front().at);
            run(std::move(statement.then_block), join);
        }
        if (has_else) {
            open_step(else_step, statement.else_block.front().at);
            run(std::move(statement.else_block), join);
        }
    }

    Clause& whole_;
    TypeTable& types_;
    std::uint32_t& next_step_;
    std::vector<std::unique_ptr<Clause>>& pieces_;
    Clause* current_ = nullptr;
};

} // namespace

void lower_ifs(Unit& unit, CompileContext& context)
{
    std::vector<std::unique_ptr<Clause>> clauses;
    std::vector<std::pair<bool, std::size_t>> order;
    for (auto [is_decl, index] : unit.order) {
        if (is_decl) {
            order.emplace_back(true, index);
            continue;
        }
        std::size_t first = clauses.size();
        std::unique_ptr<Clause>& clause = unit.clauses[index];
        if (has_if(clause->statements))
            Cutter(*clause, context.types, context.symbols.next_step, clauses).cut();
        else
            clauses.push_back(std::move(clause));
        for (std::size_t i = first; i < clauses.size(); ++i)
            order.emplace_back(false, i);
    }
    unit.clauses = std::move(clauses);
    unit.order = std::move(order);
}

} // namespace dt
