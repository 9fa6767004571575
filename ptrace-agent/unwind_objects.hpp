// SPDX-License-Identifier: MIT
// Finds the call frame information of each object (program or library) that a process
// has mapped. The object's program headers lead to .eh_frame_hdr. The sorted table in
// .eh_frame_hdr leads to the information of each function (Linux Standard Base,
// "Exception Frames").
//
// Everything is read from the target's memory, and all numbers are checked. Files are
// not read, because the target chooses their names and contents.
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

// Reads n bytes of the target. Returns false if that fails or if the caller's limit is
// reached.
using ReadBytes = std::function<bool(std::uint64_t at, void* to, std::size_t n)>;

struct FrameTable {
    TargetAddr begin, end;    // the text that the table describes
    std::uint64_t header = 0; // the address of .eh_frame_hdr
    // Each entry consists of two 32-bit offsets from `header`: to a function and to its
    // FDE.
    std::uint64_t entries = 0, n_entries = 0;
};

class UnwindObjects {
public:
    explicit UnwindObjects(pid_t pid) : pid_(pid) {}

    // Returns the table of the object at this address, or null if the object has no
    // table. Caches tables and mappings.
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
