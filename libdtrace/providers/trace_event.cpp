// SPDX-License-Identifier: MIT
#include "libdtrace/providers/trace_event.hpp"

#include "base/each_part.hpp"
#include "libdtrace/providers/tracefs.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace dt {

// Returns the text between `before` and the next semicolon, or "" if a line does not
// contain it.
static std::string_view part_of(std::string_view line, std::string_view before)
{
    const std::size_t at = line.find(before);
    if (at == std::string_view::npos)
        return "";
    line.remove_prefix(at + before.size());
    return line.substr(0, line.find(';'));
}

static std::size_t size_in(std::string_view text)
{
    std::size_t size = 0;
    std::from_chars(text.data(), text.data() + text.size(), size);
    return size;
}

// The kernel writes one line for each field, for example:
//   field:char next_comm[16];	offset:40;	size:16;	signed:0;
std::vector<TraceField> trace_fields_in(std::string_view format)
{
    std::vector<TraceField> fields;
    each_line(format, [&fields](std::string_view line) {
        const std::string_view declared = part_of(line, "\tfield:");
        std::string_view name = declared.substr(declared.rfind(' ') + 1);
        name = name.substr(0, name.find('['));
        if (!name.empty())
            fields.push_back({std::string(name), size_in(part_of(line, "\toffset:")),
                              size_in(part_of(line, "\tsize:")),
                              part_of(line, "\tsigned:") == "1"});
    });
    return fields;
}

const TraceField* TraceEvent::field(std::string_view name) const
{
    const auto found = std::ranges::find(fields, name, &TraceField::name);
    return found != fields.end() ? &*found : nullptr;
}

Result<TraceEvent> trace_event(const std::string& name)
{
    const std::string folder = "events/" + name + "/";
    auto number = read_tracefs(folder + "id");
    if (!number)
        return number.error();
    auto format = read_tracefs(folder + "format");
    if (!format)
        return format.error();
    return TraceEvent{size_in(*number), trace_fields_in(*format)};
}

std::uint64_t number_in(std::span<const std::byte> record, const TraceField* field)
{
    if (field == nullptr || field->bytes > sizeof(std::uint64_t) ||
        field->offset > record.size() || field->bytes > record.size() - field->offset)
        return 0;
    std::uint64_t value = 0; // x86-64 is little-endian
    std::memcpy(&value, &record[field->offset], field->bytes);
    const unsigned n_unused = 64 - 8 * static_cast<unsigned>(field->bytes);
    if (field->is_signed && field->bytes != 0)
        value = static_cast<std::uint64_t>(
            static_cast<std::int64_t>(value << n_unused) >> n_unused);
    return value;
}

} // namespace dt
