// SPDX-License-Identifier: MIT
#include "libdtrace/consume/structured.hpp"

#include "libdtrace/consume/agg_value.hpp"
#include "libdtrace/consume/drops.hpp"
#include "libdtrace/consume/faults.hpp"
#include "libdtrace/consume/numbers.hpp"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace dt {

using Json = nlohmann::ordered_json;
using Bytes = std::span<const std::byte>;

// Returns a JSON object as text. Replaces bytes that are not UTF-8. Escapes DEL and the
// C1 controls, because terminals interpret U+009B as the start of an escape sequence.
static std::string json_text(const Json& object)
{
    const std::string text =
        object.dump(-1, ' ', false, Json::error_handler_t::replace);
    // DEL, and the first byte of a C1 control in UTF-8
    constexpr char del = 0x7f, c1 = '\xc2';
    constexpr char controls[] = {del, c1, '\0'};
    std::string out;
    std::size_t done = 0;
    auto escape = [&](std::size_t at, unsigned control, std::size_t n_bytes) {
        char escaped[8];
        std::snprintf(escaped, sizeof escaped, "\\u%04x", control);
        out.append(text, done, at - done).append(escaped);
        done = at + n_bytes;
    };
    for (std::size_t at = 0; (at = text.find_first_of(controls, at)) != text.npos;) {
        const auto second =
            static_cast<unsigned char>(at + 1 < text.size() ? text[at + 1] : 0);
        if (text[at] == del)
            escape(at, 0x7f, 1);
        else if (text[at] == c1 && second >= 0x80 && second < 0xa0)
            escape(at, second, 2);
        at++;
    }
    if (done == 0)
        return text;
    return out.append(text, done, text.npos);
}

static void put_line(std::string& out, const Json& object)
{
    out += json_text(object);
    out.push_back('\n');
}

static Json probe_json(const ProbeName& probe)
{
    return {{"id", probe.id},
            {"provider", probe.provider},
            {"module", probe.module},
            {"function", probe.function},
            {"name", probe.name}};
}

// Returns the frames of a stack, innermost first.
static std::vector<std::string> frames_of(const PrintContext& context,
                                          const RecordDesc& desc, Bytes bytes)
{
    std::string text;
    if (desc.action == DTRACEACT_STACK)
        put_kstack(text, context.symbols, bytes, 0);
    else
        put_ustack(text, context.symbols, bytes, desc.arg, 0);
    std::vector<std::string> frames;
    for (std::size_t at = 1, end; (end = text.find('\n', at)) != text.npos;
         at = end + 1)
        frames.push_back(text.substr(at, end - at));
    return frames;
}

static Json any_json(const PrintContext& context, const RecordDesc& desc, Bytes bytes)
{
    if (is_stack(desc.action))
        return frames_of(context, desc, bytes);
    if (std::string name = symbol_text(context.symbols, desc.action, bytes);
        !name.empty())
        return name;
    const Type* type = desc.compiled != nullptr ? desc.compiled->type : nullptr;
    if (type != nullptr)
        return typed_json(type, bytes);
    bool is_integer = bytes.size() == 1 || bytes.size() == 2 || bytes.size() == 4 ||
                      bytes.size() == 8;
    return is_integer ? Json(load_signed(bytes)) : bytes_json(bytes);
}

static std::string_view function_name(std::uint32_t function)
{
    switch (function) {
#define X(name, number, ...)                                                           \
    case number:                                                                       \
        return #name;
        DIF_AGGS(X)
#undef X
    default:
        return "";
    }
}

static Json buckets_json(const AggEntry& entry)
{
    Json buckets = Json::array();
    for (const Bucket& bucket :
         buckets_of(entry.agg->function, entry.agg->arg, entry.value())) {
        if (bucket.count == 0)
            continue;
        const char* edge = bucket.edge == Bucket::Edge::Below   ? "below"
                           : bucket.edge == Bucket::Edge::Above ? "from"
                                                                : "value";
        buckets.push_back(
            {{edge, bucket.value}, {"count", normalized(bucket.count, entry.normal)}});
    }
    return buckets;
}

static Json number_json(const AggEntry& entry)
{
    const AggDesc& agg = *entry.agg;
    if (holds_doubles(agg.function, agg.arg))
        return double_json(shown_double(agg.function, entry.value(), entry.normal));
    return shown_number(agg.function, agg.arg, entry.value(), entry.normal);
}

static Json entry_json(const PrintContext& context, const AggEntry& entry)
{
    const AggDesc& agg = *entry.agg;
    Json keys = Json::array();
    for (std::size_t i = 0; i < agg.parts.size(); i++)
        keys.push_back(any_json(context, agg.parts[i], entry.part(i)));
    Json object{{"name", "@" + agg.name},
                {"function", function_name(agg.function)},
                {"keys", std::move(keys)}};
    if (is_distribution(agg.function))
        object["buckets"] = buckets_json(entry);
    else
        object["value"] = number_json(entry);
    return object;
}

class FoldedLine {
public:
    void add(std::string_view part)
    {
        if (n_parts_++ != 0)
            text_.push_back(';');
        for (char c : part)
            text_.push_back(c == ';' ? ':' : c == '\n' ? ' ' : c);
    }
    // Adds a frame such as "libc.so.6`malloc+0x12" without its offset.
    void add_frame(std::string_view frame) { add(frame.substr(0, frame.rfind("+0x"))); }
    bool empty() const { return n_parts_ == 0; }
    const std::string& text() const { return text_; }

private:
    std::string text_;
    std::size_t n_parts_ = 0;
};

static void add_to(FoldedLine& line, const PrintContext& context,
                   const RecordDesc& desc, Bytes bytes)
{
    if (is_stack(desc.action)) {
        auto frames = frames_of(context, desc, bytes);
        for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame)
            line.add_frame(*frame);
        return;
    }
    Json value = any_json(context, desc, bytes);
    line.add(value.is_string() ? value.get<std::string>() : json_text(value));
}

StructuredRecord::StructuredRecord(const ProbeData& data, const PrintContext& context)
    : data_(data), context_(context), form_(context.display.form),
      values_(std::make_unique<Json>(Json::array()))
{
}

StructuredRecord::~StructuredRecord() = default;

void StructuredRecord::add(std::string_view action, std::string_view field, Json what)
{
    any_ = true;
    values_->push_back({{"action", action}, {field, std::move(what)}});
}

static std::string_view action_name(const RecordDesc& desc)
{
    switch (desc.action) {
    case DTRACEACT_USTACK:
        return "ustack";
    case DTRACEACT_JSTACK:
        return "jstack";
    case DTRACEACT_STACK:
        return "stack";
    case DTRACEACT_SYM:
        return "sym";
    case DTRACEACT_MOD:
        return "mod";
    case DTRACEACT_USYM:
        return "usym";
    case DTRACEACT_UMOD:
        return "umod";
    case DTRACEACT_UADDR:
        return "uaddr";
    default:
        return desc.compiled->is_print ? "print" : "trace";
    }
}

void StructuredRecord::value(const RecordDesc& desc, Bytes bytes)
{
    if (form_ == OutputForm::json)
        return add(action_name(desc), "value", any_json(context_, desc, bytes));
    if (!is_stack(desc.action))
        return;
    FoldedLine line;
    add_to(line, context_, desc, bytes);
    if (!line.empty())
        folded_ += line.text() + " 1\n";
}

void StructuredRecord::text(std::string_view action, std::string_view text)
{
    add(action, "text", text);
}

void StructuredRecord::memory(Bytes bytes)
{
    add("tracemem", "value", bytes_json(bytes));
}

void StructuredRecord::aggregations(std::span<AggEntry* const> entries)
{
    if (form_ == OutputForm::folded) {
        for (const AggEntry* entry : entries)
            put_structured(folded_, context_, form_, *entry);
        return;
    }
    Json all = Json::array();
    for (const AggEntry* entry : entries)
        all.push_back(entry_json(context_, *entry));
    add("printa", "aggregations", std::move(all));
}

void StructuredRecord::exit(int status)
{
    add("exit", "status", status);
}

void StructuredRecord::finish(std::string& out)
{
    if (form_ == OutputForm::folded) {
        out += folded_;
        return;
    }
    put_line(out, {{"type", "record"},
                   {"time", data_.timestamp},
                   {"cpu", data_.cpu},
                   {"probe", probe_json(*data_.probe)},
                   {"values", *values_}});
}

void put_structured(std::string& out, const PrintContext& context, OutputForm form,
                    const AggEntry& entry)
{
    if (form == OutputForm::json) {
        Json object{{"type", "aggregation"}};
        object.update(entry_json(context, entry));
        return put_line(out, object);
    }
    FoldedLine line;
    if (entry.agg->parts.empty())
        line.add("@" + entry.agg->name);
    for (std::size_t i = 0; i < entry.agg->parts.size(); i++)
        add_to(line, context, entry.agg->parts[i], entry.part(i));
    if (line.empty()) // a stack without frames
        return;
    std::int64_t count = 0;
    if (is_distribution(entry.agg->function))
        for (const Bucket& bucket :
             buckets_of(entry.agg->function, entry.agg->arg, entry.value()))
            count += normalized(bucket.count, entry.normal);
    else
        count = shown_number(entry.agg->function, entry.agg->arg, entry.value(),
                             entry.normal);
    out += line.text() + " " + std::to_string(count) + "\n";
}

void put_json(std::string& out, const FaultEvent& event)
{
    Json object{{"type", "error"},
                {"cpu", event.cpu},
                {"probe", probe_json(*event.ecb->probe)},
                {"action", event.action},
                {"fault", fault_text(event.fault)},
                {"message", event.text}};
    if (shows_address(event.fault)) {
        std::string address = "0x";
        put_hex(address, event.value);
        object["address"] = address;
    }
    if (!event.source.empty())
        object["source"] = {{"line", event.line}, {"text", event.source}};
    put_line(out, object);
}

void put_json(std::string& out, const DropEvent& event)
{
    Json object{{"type", "drop"},
                {"kind", drop_name(event.kind)},
                {"count", event.count},
                {"total", event.total},
                {"message", event.text}};
    if (event.cpu)
        object["cpu"] = *event.cpu;
    put_line(out, object);
}

} // namespace dt
