// SPDX-License-Identifier: MIT
// ProcessSymbols: finds the addresses of names, and formats addresses as text.
#include "libdtrace/symbols/process_symbols.hpp"

#include "base/hex_text.hpp"
#include "libdtrace/symbols/demangle.hpp"
#include "libdtrace/symbols/glob.hpp"
#include "libdtrace/symbols/suggest.hpp"

#include <algorithm>

namespace dt {

Result<std::unique_ptr<ProcessSymbols>> ProcessSymbols::open(pid_t pid,
                                                             ImageCache& cache)
{
    std::unique_ptr<ProcessSymbols> symbols(new ProcessSymbols(pid, cache));
    if (auto read = symbols->refresh(); !read)
        return read.error();
    return symbols;
}

Result<Ok> ProcessSymbols::refresh()
{
    auto maps = ProcessMaps::read(pid_);
    if (!maps)
        return maps.error().during("symbols of " + std::to_string(pid_));
    maps_ = std::move(*maps);
    rebuild_modules();
    return Ok{};
}

Symbol ProcessSymbols::lookup(TargetAddr addr) const
{
    Symbol symbol;
    symbol.module = module_at(addr);
    if (!symbol.module || !symbol.module->image)
        return symbol;
    const FunctionTable& table = symbol.module->image->functions();
    symbol.function = table.at(symbol.module->link_addr(addr));
    if (symbol.function && table.names(*symbol.function)[0].from_frame)
        symbol.function = nullptr;
    if (symbol.function) {
        symbol.name = table.name(*symbol.function);
        symbol.offset = symbol.module->link_addr(addr) - symbol.function->addr;
        return symbol;
    }
    ElfImage& image = *symbol.module->image;
    const std::uint64_t at = symbol.module->link_addr(addr);
    if (image.text_segment(at) != nullptr)
        return symbol;
    if (const DataSymbol* variable = image.variable_at(at)) {
        symbol.name = variable->name;
        symbol.offset = at - variable->addr;
    }
    return symbol;
}

Result<FunctionAt> ProcessSymbols::lookup(std::string_view module,
                                          std::string_view function) const
{
    auto modules = match_modules(module);
    if (modules.empty())
        return Error{Code::not_found, "no module " + printable_name(module) +
                                          " in process " + std::to_string(pid_) +
                                          did_you_mean(suggest_modules(module))};
    for (const Module* m : modules) {
        if (!m->image)
            continue;
        if (const Function* f = m->image->functions().find(function))
            return FunctionAt{m, f, m->target_addr(f->addr)};
    }
    if (auto found = match(module, function); !found.empty())
        return found.front();
    if (modules.size() == 1 && !modules[0]->image)
        return Error{Code::unsupported, "no functions are known in " +
                                            modules[0]->name + ": " +
                                            modules[0]->trouble};
    return Error{Code::not_found,
                 "no function " + printable_name(function) + " in " +
                     (module.empty() ? "any module" : modules[0]->name) +
                     did_you_mean(suggest_functions(module, function))};
}

std::vector<FunctionAt> ProcessSymbols::match(std::string_view module,
                                              std::string_view function) const
{
    return match(match_modules(module), function);
}

std::vector<FunctionAt> ProcessSymbols::match(std::span<const Module* const> modules,
                                              std::string_view function)
{
    std::vector<FunctionAt> found;
    auto expect = [&found](std::size_t n_more) {
        if (std::size_t n = found.size() + n_more; n > found.capacity())
            found.reserve(std::max(n, 2 * found.capacity()));
    };
    bool all = function.empty() || function == "*";
    for (const Module* m : modules) {
        if (!m->image)
            continue;
        const FunctionTable& table = m->image->functions();
        auto add = [&](const Function& f) {
            found.push_back({m, &f, m->target_addr(f.addr)});
        };
        if (!all && !is_glob(function)) {
            auto named = table.find_all(function);
            for (const Function* f : named.empty() ? m->image->match(function) : named)
                add(*f);
            continue;
        }
        // Skips _init and _fini, which come from the C library's startup files.
        auto wanted = [&](const Function& f) {
            return table.name(f) != "_init" && table.name(f) != "_fini";
        };
        if (all) {
            expect(table.all().size());
            for (const Function& f : table.all())
                if (wanted(f))
                    add(f);
            continue;
        }
        std::vector<const Function*> matching = m->image->match(function);
        expect(matching.size());
        for (const Function* f : matching)
            if (wanted(*f))
                add(*f);
    }
    return found;
}

std::string ProcessSymbols::format_module(TargetAddr addr) const
{
    const Module* module = module_at(addr);
    return module ? printable_name(module->name) : hex_text(addr.value);
}

std::string ProcessSymbols::format_function(TargetAddr addr) const
{
    Symbol symbol = lookup(addr);
    if (!symbol.module)
        return hex_text(addr.value);
    return printable_name(symbol.module->name) + "`" +
           (symbol.name.empty()
                ? hex_text(addr.value)
                : printable_name(cache_->demangled_or_same(symbol.name)));
}

std::string ProcessSymbols::format_address(TargetAddr addr) const
{
    std::string text = format_function(addr);
    Symbol symbol = lookup(addr);
    if (symbol.offset != 0)
        text += "+" + hex_text(symbol.offset);
    return text;
}

std::vector<std::string> ProcessSymbols::suggest_functions(std::string_view module,
                                                           std::string_view name) const
{
    Suggestions suggestions(name);
    for (const Module* m : match_modules(module))
        if (m->image)
            for (const std::string& nearest : m->image->suggest(name))
                suggestions.consider(nearest);
    return suggestions.nearest();
}

} // namespace dt
