// SPDX-License-Identifier: MIT
// Parses one ELF file in this process.
//
//   file ──libelf──> header, segments, build id        (read when opened)
//     ├── .symtab .dynsym .gnu_debugdata ─┐
//     └── debug file (build id, link) ────┴─> FunctionTable   (at the first request)
//
// Sizes are checked against the file and against limits (elf_limits) before memory is
// allocated.
#pragma once

#include "libdtrace/symbols/debug/debug_file.hpp"
#include "libdtrace/symbols/elf/data_symbols.hpp"
#include "libdtrace/symbols/elf/elf_image.hpp"
#include "libdtrace/symbols/elf/elf_sections.hpp"
#include "libdtrace/symbols/elf/function_symbols.hpp"

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dt {

class ParsedElf final : public ElfTables {
public:
    // Has the same errors as ElfImage::open().
    static Result<std::unique_ptr<ParsedElf>> open(ElfSource source);
    ~ParsedElf() override;

    const ElfFacts& facts() const override { return facts_; }
    const FunctionTable& functions() override;
    std::vector<const Function*> match(std::string_view glob) override;
    std::vector<std::string> suggest(std::string_view name) override;
    std::vector<std::string> take_cuts() override;
    std::optional<std::uint64_t> find_variable(std::string_view name) override;
    const DataSymbol* variable_at(std::uint64_t addr) override;
    Result<DebugTypes*> debug_types() override;
    std::span<const AddressRange> frame_functions() override;
    CodePlaces code_places() override;
    StaticProbes static_probes() override;

    // Returns data_symbol_at() for the file and its debug file.
    DataSymbol variable_or_gap_at(std::uint64_t addr)
    {
        return data_symbol_at(files(), addr);
    }
    // Returns whether the file or its debug file has DWARF. Does not read the DWARF.
    bool has_debug_types();
    // Copies the bytes at a link-time address from the file. Returns false if the file
    // does not contain all of the bytes.
    bool read(std::uint64_t at, std::span<std::byte> into) const;
    // Returns the file itself, followed by its debug file and its .gnu_debugdata if
    // they were used to find functions.
    std::vector<const ElfSections*> files();

private:
    ParsedElf(std::unique_ptr<ElfSections> file, std::string path, std::string root);
    void load_functions();
    void add_frame_functions(std::vector<FunctionSymbol>& symbols);
    void open_debugdata();
    Result<std::unique_ptr<DebugTypes>> open_debug_types();

    std::unique_ptr<ElfSections> file_;
    std::string path_, root_;
    ElfFacts facts_;

    // functions() sets these members. The names in functions_ are views into buffers
    // that file_, debugdata_, debug_, collector_ and frame_names_ own.
    std::unique_ptr<ElfSections> debugdata_;
    DebugFile debug_;
    std::unique_ptr<SymbolCollector> collector_;
    std::deque<std::string> frame_names_;
    std::optional<FunctionTable> functions_;

    std::optional<Result<std::unique_ptr<DebugTypes>>> debug_types_;
    std::optional<std::vector<AddressRange>> frames_;
    DataSymbols variables_;
};

} // namespace dt
