// SPDX-License-Identifier: MIT
// The tables of one ELF file, which a reader process has parsed.
#pragma once

#include "libdtrace/symbols/debug/debug_types.hpp"
#include "libdtrace/symbols/elf/data_symbols.hpp"
#include "libdtrace/symbols/elf/elf_tables.hpp"
#include "libdtrace/symbols/reader/jailed_file.hpp"
#include "libdtrace/symbols/reader/symbol_reader.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dt {

class JailedElf final : public ElfTables {
public:
    // Has the same errors as JailedFile::open_all().
    static std::vector<Result<std::unique_ptr<JailedElf>>>
    open_all(std::shared_ptr<SymbolReader> reader,
             std::span<const std::shared_ptr<const ElfSource>> sources);

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

private:
    JailedElf(std::shared_ptr<SymbolReader> reader, std::shared_ptr<ReaderSlot> slot,
              std::shared_ptr<const ElfSource> source);
    // Sends a request and reads its reply. Returns the reply's bytes, so that they can
    // be kept. On failure, returns an empty body, and the data that `read` fills may be
    // incomplete.
    template <class Read>
    MessageBody request(ReaderWord word, const MessageWriter& arguments, Read read);
    Result<std::unique_ptr<DebugTypes>> open_types();

    std::shared_ptr<SymbolReader> reader_;
    JailedFile file_;
    ElfFacts facts_;
    MessageBody names_; // memory of the names in functions_
    std::optional<FunctionTable> functions_;
    std::optional<std::vector<AddressRange>> frames_;
    DataSymbols variables_;
    std::optional<Result<std::unique_ptr<DebugTypes>>> types_;
};

} // namespace dt
