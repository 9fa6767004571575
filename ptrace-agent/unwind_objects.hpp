// SPDX-License-Identifier: MIT
// Finds the call frame information of each object (program or library) that a process
// has mapped. The sorted table in .eh_frame_hdr leads to the information about each
// function (Linux Standard Base, "Exception Frames"). The object's program headers,
// which are also mapped, contain the address of .eh_frame_hdr.
//
// Everything is read from the target's memory through the caller's accessor. Files are
// not read, because a target chooses the names and the contents of the files that it
// maps. All numbers are checked. The caller's accessor limits how much is read.
#pragma once

#include "base/target_addr.hpp"
#include "process/maps.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace dt::agent {

// Reads n bytes of the target. Returns false if that fails, or if the caller's limit on
// the amount of data is reached.
using ReadBytes = std::function<bool(std::uint64_t at, void* to, std::size_t n)>;

struct FrameTable {
    TargetAddr begin, end;    // the text that the table describes
    std::uint64_t header = 0; // the address of .eh_frame_hdr
    // The address and the number of the entries. An entry consists of two 32-bit
    // offsets from `header`: one leads to a function, and one to its FDE.
    std::uint64_t entries = 0, n_entries = 0;
};

class UnwindObjects {
public:
    explicit UnwindObjects(pid_t pid) : pid_(pid) {}

    // Returns the table for this address in the text, or null if its object has none.
    // Caches tables, and reads the mappings again only for an address that is in no
    // known executable mapping.
    const FrameTable* table_at(TargetAddr at, const ReadBytes& read);

private:
    std::optional<FrameTable> find_table(TargetAddr at, const ReadBytes& read);
    const Mapping* mapping_at(TargetAddr at);

    pid_t pid_;
    std::vector<Mapping> mappings_;
    // The key is the start of an executable mapping. The value is nullopt if the object
    // has no usable table.
    std::map<TargetAddr, std::optional<FrameTable>> tables_;
};

} // namespace dt::agent
