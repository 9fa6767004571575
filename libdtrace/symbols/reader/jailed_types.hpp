// SPDX-License-Identifier: MIT
// The DWARF of one file, which a reader process has opened.
#pragma once

#include "libdtrace/symbols/debug/debug_types.hpp"
#include "libdtrace/symbols/reader/jailed_file.hpp"
#include "libdtrace/symbols/reader/symbol_reader.hpp"

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace dt {

class JailedTypes final : public DebugTypes {
public:
    // Has the errors of ElfTables::debug_types(), and Code::corrupt if the reader
    // process ended while it read the file.
    static Result<std::unique_ptr<DebugTypes>>
    open(SymbolReader& reader, std::shared_ptr<const ElfSource> source);

    std::optional<DebugRef> find(Kind kind, std::string_view name) override;
    std::optional<DebugVariable> find_variable(std::string_view name) override;
    std::optional<std::int64_t> find_enumerator(std::string_view name) override;
    std::optional<DebugFunction> function_at(std::uint64_t addr) override;
    std::vector<std::string> take_cuts() override;
    DebugType type(DebugRef ref) override;
    std::vector<std::string_view> names(Kind kind) override;

private:
    explicit JailedTypes(std::unique_ptr<JailedFile> file) : file_(std::move(file)) {}
    template <class Read>
    void request(ReaderWord word, const MessageWriter& arguments, Read read);

    std::unique_ptr<JailedFile> file_;
    std::unordered_map<DebugRef, DebugType> types_; // the types that were read
    std::map<std::pair<Kind, std::string>, std::optional<DebugRef>> found_;
    std::map<Kind, std::vector<std::string>> names_;
};

} // namespace dt
