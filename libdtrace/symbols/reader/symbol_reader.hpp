// SPDX-License-Identifier: MIT
// Reads the symbols of files in processes that have no rights (jail.hpp).
//
//   SymbolReader ──┬── a reader process for the tables of all files of one owner
//                  ├── a reader process for each file whose DWARF is needed
//                  └── a reader process that demangles names
//
// A hostile file may take control of its reader. It must not forge the tables of
// another user's files, because dtrace plans its patches from these tables. Therefore
// the files of each owner have their own reader. A file that other users may write to
// has its own reader, and so has each copy of memory. All files share one reader if
// dtrace has no right to trace processes of other users (CAP_SYS_PTRACE).
//
// A crash of a reader for tables loses nothing: dtrace has received complete tables,
// and another process can open the files again. DWARF is read entry by entry, and a
// DebugRef has a meaning only in the process that returned it. Therefore each file with
// DWARF has a process of its own, and a crash loses only the types of this file.
//
// Any thread may use a SymbolReader.
#pragma once

#include "libdtrace/symbols/elf/elf_image.hpp"
#include "libdtrace/symbols/reader/reader_slot.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <unordered_map>
#include <vector>

namespace dt {

class SymbolReader : public std::enable_shared_from_this<SymbolReader> {
public:
    // The maximum number of processes for DWARF, and for tables. Further files share the
    // last process.
    static constexpr std::size_t max_type_processes = 16, max_table_processes = 64;

    static std::shared_ptr<SymbolReader> create();
    // For tests: with other limits, and with another main function of the processes.
    static std::shared_ptr<SymbolReader> create(ReaderSlot::Serve serve,
                                                ReaderProcess::Limits limits);

    // Starts the process for tables of root's files, which then enters its jail while
    // dtrace does other work.
    void prepare();
    // Has the same errors as JailedFile::open_all().
    Result<std::shared_ptr<ElfImage>> open(ElfSource source);
    // Opens several files, which is faster than opening them one by one. The results
    // have the same order.
    std::vector<Result<std::shared_ptr<ElfImage>>>
    open_all(std::vector<ElfSource> sources);
    // Returns the demangled form of a name. Returns the name itself if it has none.
    std::string demangled_or_same(std::string_view name);

    // Internal to reader/: return the process that reads the symbol tables of a file, and
    // the process that reads the DWARF of the next file.
    std::shared_ptr<ReaderSlot> slot_for_tables(const ElfSource& source);
    std::shared_ptr<ReaderSlot> slot_for_types();
    // Internal to reader/: returns a new number for a file.
    std::uint64_t next_number();

private:
    SymbolReader(ReaderSlot::Serve serve, ReaderProcess::Limits limits);
    std::shared_ptr<ReaderSlot> slot_of_owner(uid_t owner);
    std::shared_ptr<ReaderSlot> new_table_slot(); // the caller holds mutex_

    const ReaderSlot::Serve serve_;
    const ReaderProcess::Limits limits_;
    const std::shared_ptr<ReaderSlot> names_; // demangles
    std::mutex mutex_;                        // protects the members below
    // The key is the owner's user id. Slots that only one file uses have no key.
    std::unordered_map<uid_t, std::shared_ptr<ReaderSlot>> tables_;
    std::size_t n_table_slots_ = 0;
    std::shared_ptr<ReaderSlot> last_table_slot_;
    std::uint64_t last_number_ = 0;
    std::size_t n_type_slots_ = 0;
    std::shared_ptr<ReaderSlot> last_type_slot_;
    // The results of demangled_or_same(), because the same names occur in many stacks.
    std::unordered_map<std::string, std::string> demangled_;
};

} // namespace dt
