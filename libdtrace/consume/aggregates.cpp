// SPDX-License-Identifier: MIT
// The hash table of aggregated values. A walk computes each entry's sort key only once,
// because the key of a distribution depends on all buckets.
#include "libdtrace/consume/aggregates.hpp"

#include "libdtrace/consume/agg_value.hpp"
#include "libdtrace/consume/numbers.hpp"
#include "libdtrace/consume/values.hpp"

#include <algorithm>
#include <array>

namespace dt {

static bool same_layout(const AggDesc& a, const AggDesc& b)
{
    return a.key_bytes == b.key_bytes && a.value_bytes == b.value_bytes &&
           std::equal(a.parts.begin(), a.parts.end(), b.parts.begin(), b.parts.end(),
                      [](const RecordDesc& x, const RecordDesc& y) {
                          return x.action == y.action && x.size == y.size &&
                                 x.offset == y.offset;
                      });
}

AggDesc& Aggregates::declare(AggDesc desc)
{
    desc.has_symbols = std::ranges::any_of(
        desc.parts, [](const RecordDesc& part) { return is_symbol(part.action); });
    auto& first = descs_[desc.id];
    if (!first) {
        if (auto before = announced_.find(desc.id); before != announced_.end())
            desc.printed = before->second.printed;
        first = std::make_unique<AggDesc>(std::move(desc));
        return *first;
    }
    if (same_layout(*first, desc))
        return *first;
    for (auto& variant : variants_)
        if (variant->id == desc.id && same_layout(*variant, desc))
            return *variant;
    variants_.push_back(std::make_unique<AggDesc>(std::move(desc)));
    return *variants_.back();
}

void Aggregates::announce(AggDesc desc)
{
    announced_.emplace(desc.id, std::move(desc));
}

AggDesc* Aggregates::find(std::uint32_t id)
{
    if (auto found = descs_.find(id); found != descs_.end())
        return found->second.get();
    auto announced = announced_.find(id);
    return announced == announced_.end() ? nullptr : &announced->second;
}

std::int64_t AggEntry::word(std::size_t n) const
{
    return n < n_words() ? load_as<std::int64_t>(value().data() + 8 * n) : 0;
}

static std::string_view as_text(std::span<const std::byte> bytes)
{
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<std::byte> Aggregates::zero_places(const AggDesc& agg) const
{
    auto zero = zero_value(agg.function, agg.arg, agg.value_bytes);
    std::vector<std::byte> places;
    places.reserve(n_places_ * zero.size());
    for (std::size_t i = 0; i < n_places_; i++)
        places.insert(places.end(), zero.begin(), zero.end());
    return places;
}

// Returns whether the value is a struct dt_aggpoint: one bucket of a distribution.
static bool is_short(const AggDesc& agg, std::span<const std::byte> value)
{
    return is_distribution(agg.function) && value.size() == sizeof(dt_aggpoint);
}

// Returns whether the size and the bucket index are valid. The value is untrusted.
static bool fits(const AggDesc& agg, std::span<const std::byte> value)
{
    if (!fits(agg.function, agg.arg, agg.value_bytes))
        return false;
    if (!is_short(agg, value))
        return value.size() == agg.value_bytes;
    // The first word of lquantize() and llquantize() is not a bucket.
    const std::uint64_t first = agg.function == DTRACEAGG_quantize ? 0 : 1;
    const auto word = load_as<dt_aggpoint>(value.data()).word;
    return word >= first && word < agg.value_bytes / 8;
}

static void add_value(const AggDesc& agg, std::byte* into,
                      std::span<const std::byte> value)
{
    if (!is_short(agg, value))
        return add_words(agg.function, agg.arg, into, value);
    const auto point = load_as<dt_aggpoint>(value.data());
    std::byte* bucket = into + 8 * point.word;
    const std::uint64_t sum = load_as<std::uint64_t>(bucket) + point.count;
    std::memcpy(bucket, &sum, sizeof sum);
}

// Returns the offset of the changed word from the start of the key. The update is not
// checked yet, so the offset may be too large.
static std::size_t word_offset(const AggUpdate& update)
{
    const AggDesc& agg = *update.agg;
    const std::uint64_t word = is_short(agg, update.value)
                                   ? load_as<dt_aggpoint>(update.value.data()).word
                                   : 0;
    return agg.key_bytes + 8 * word;
}

void Aggregates::count_at(AggEntry& entry, std::span<const std::byte> value,
                          std::size_t place)
{
    const AggDesc& agg = *entry.agg;
    if (place >= n_places_)
        return;
    std::byte* into = entry.places.data() + place * agg.value_bytes;
    // The first value of a CPU replaces the initial zero. Otherwise min() of positive
    // values would be 0.
    if (entry.counted[place] || is_distribution(agg.function))
        add_value(agg, into, value);
    else
        std::copy(value.begin(), value.end(), into);
    entry.counted[place] = true;
}

// Returns an approximate size.
std::uint64_t Aggregates::bytes_of_entry(const AggDesc& agg) const
{
    constexpr std::uint64_t hash_node_bytes = 64;
    return sizeof(AggEntry) + hash_node_bytes + agg.key_bytes +
           (1 + n_places_) * std::uint64_t{agg.value_bytes} + n_places_ / 8;
}

std::size_t Aggregates::recent_slot(std::uint32_t id, std::string_view key) const
{
    return (std::hash<std::string_view>{}(key) + id) & (recent_.size() - 1);
}

// Prefetches the memory of the updates' entries. Each loop reads only memory that the
// previous loop has prefetched.
void Aggregates::prefetch(std::span<const AggUpdate> updates,
                          std::span<const std::size_t> slots) const
{
    for (std::size_t slot : slots)
        __builtin_prefetch(&recent_[slot]);
    for (std::size_t slot : slots)
        __builtin_prefetch(recent_[slot]);
    for (std::size_t i = 0; i < slots.size(); i++)
        if (const AggEntry* entry = recent_[slots[i]]) {
            const std::byte* bytes = entry->bytes.data();
            __builtin_prefetch(bytes);
            __builtin_prefetch(bytes +
                               std::min(word_offset(updates[i]), entry->bytes.size()));
        }
}

// Returns null if the key is new.
AggEntry* Aggregates::find(const AggUpdate& update, std::size_t slot)
{
    const std::string_view key = as_text(update.key);
    if (AggEntry* recent = recent_[slot]; recent != nullptr &&
                                          recent->agg->id == update.agg->id &&
                                          as_text(recent->key()) == key)
        return recent;
    Table& table = tables_[update.agg->id];
    auto found = table.find(key);
    if (found == table.end())
        return nullptr;
    recent_[slot] = found->second.get();
    return found->second.get();
}

Merged Aggregates::merge(std::span<const AggUpdate> updates, std::size_t place)
{
    // Half of the cache's slots stay free, so that few keys share a slot.
    if (n_entries_ > recent_.size() / 2 && recent_.size() < 1 << 20)
        recent_.assign(2 * recent_.size(), nullptr);
    std::array<std::size_t, most_updates> slots{};
    for (std::size_t i = 0; i < updates.size(); i++)
        slots.at(i) = recent_slot(updates[i].agg->id, as_text(updates[i].key));
    prefetch(updates, std::span(slots).first(updates.size()));

    Merged merged;
    for (const AggUpdate& update : updates) {
        AggDesc& agg = *update.agg;
        if (update.key.size() != agg.key_bytes || !fits(agg, update.value))
            return merged;
        if (AggEntry* entry = find(update, slots.at(merged.n))) {
            // The descriptions may differ in the parts of the key, but not in the
            // function and its parameters.
            if (entry->agg->function != agg.function || entry->agg->arg != agg.arg)
                return merged;
            add_value(agg, entry->bytes.data() + agg.key_bytes, update.value);
            count_at(*entry, update.value, place);
        } else if (!add(update, place)) {
            merged.n_dropped++;
        }
        merged.n++;
    }
    return merged;
}

// Returns false if the memory limit is reached.
bool Aggregates::add(const AggUpdate& update, std::size_t place)
{
    const AggDesc& agg = *update.agg;
    const std::uint64_t more = bytes_of_entry(agg);
    if (n_bytes_ > max_bytes_ || max_bytes_ - n_bytes_ < more)
        return false;
    auto entry = std::make_unique<AggEntry>();
    entry->agg = &agg;
    entry->bytes.reserve(update.key.size() + agg.value_bytes);
    entry->bytes.assign(update.key.begin(), update.key.end());
    if (is_distribution(agg.function)) {
        // The parameters are taken from the program, because a target can forge the
        // parameters in the buffer.
        const auto zero = zero_value(agg.function, agg.arg, agg.value_bytes);
        entry->bytes.insert(entry->bytes.end(), zero.begin(), zero.end());
        add_value(agg, entry->bytes.data() + agg.key_bytes, update.value);
    } else {
        entry->bytes.insert(entry->bytes.end(), update.value.begin(),
                            update.value.end());
    }
    entry->places = zero_places(agg);
    entry->counted.assign(n_places_, false);
    count_at(*entry, update.value, place);
    entry->order = next_order_++;
    std::string_view name = as_text(entry->key());
    tables_[agg.id].emplace(name, std::move(entry));
    n_entries_++;
    n_bytes_ += more;
    return true;
}

void Aggregates::erase(AggEntry& entry)
{
    const std::uint64_t bytes = bytes_of_entry(*entry.agg);
    AggEntry*& recent = recent_[recent_slot(entry.agg->id, as_text(entry.key()))];
    if (recent == &entry)
        recent = nullptr;
    Table& table = tables_[entry.agg->id];
    if (table.erase(as_text(entry.key())) != 0) {
        n_entries_--;
        n_bytes_ -= bytes;
    }
}

void Aggregates::zero(AggEntry& entry)
{
    auto value =
        zero_value(entry.agg->function, entry.agg->arg, entry.agg->value_bytes);
    std::copy(value.begin(), value.end(), entry.bytes.begin() + entry.agg->key_bytes);
    entry.places = zero_places(*entry.agg);
    entry.counted.assign(n_places_, false);
}

void Aggregates::clear(std::uint32_t id)
{
    if (auto table = tables_.find(id); table != tables_.end())
        for (auto& [key, entry] : table->second)
            zero(*entry);
}

void Aggregates::clear_all()
{
    for (auto& [id, table] : tables_)
        for (auto& [key, entry] : table)
            zero(*entry);
}

void Aggregates::trunc(std::uint32_t id)
{
    auto found = tables_.find(id);
    if (found == tables_.end())
        return;
    Table& table = found->second;
    n_entries_ -= table.size();
    for (const auto& [key, entry] : table) {
        n_bytes_ -= bytes_of_entry(*entry->agg);
        recent_[recent_slot(id, key)] = nullptr;
    }
    table.clear();
}

void Aggregates::trunc(std::uint32_t id, std::int64_t n)
{
    auto sorted = entries(id, AggOrder::Value, Display{}, n >= 0);
    auto keep =
        n < 0 ? 0 - static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n);
    for (std::size_t i = keep; i < sorted.size(); i++)
        erase(*sorted[i]);
}

void Aggregates::normalize(std::uint32_t id, std::uint64_t by)
{
    if (auto table = tables_.find(id); table != tables_.end())
        for (auto& [key, entry] : table->second)
            entry->normal = by;
}

namespace {

// The number by which a value is sorted. `zero` is the count of the bucket for 0. It
// decides if the weighted sums of two distributions are equal.
struct Weight {
    long double value = 0, zero = 0;
};

Weight weight_of(const AggEntry& entry)
{
    const AggDesc& agg = *entry.agg;
    Weight weight;
    if (!is_distribution(agg.function)) {
        weight.value =
            holds_doubles(agg.function, agg.arg)
                ? static_cast<long double>(shown_double(agg.function, entry.value(), 1))
                : static_cast<long double>(
                      shown_number(agg.function, agg.arg, entry.value(), 1));
        return weight;
    }
    for (const Bucket& bucket : buckets_of(agg.function, agg.arg, entry.value())) {
        // The bucket below the lowest bound counts as that bound minus one, as in
        // classic DTrace.
        long double at = static_cast<long double>(bucket.value) -
                         (bucket.edge == Bucket::Edge::Below ? 1 : 0);
        weight.value += at * static_cast<long double>(bucket.count);
        if (bucket.value == 0 && bucket.edge == Bucket::Edge::Value)
            weight.zero = static_cast<long double>(bucket.count);
    }
    return weight;
}

int compare(const Weight& a, const Weight& b)
{
    if (a.value != b.value)
        return a.value < b.value ? -1 : 1;
    return a.zero < b.zero ? -1 : a.zero > b.zero ? 1 : 0;
}

int compare_part(const RecordDesc& desc_a, std::span<const std::byte> a,
                 std::span<const std::byte> b)
{
    auto sign = [](auto x, auto y) { return x < y ? -1 : x > y ? 1 : 0; };
    const Type* type = desc_a.compiled && desc_a.compiled->type
                           ? desc_a.compiled->type->resolve()
                           : nullptr;
    if (desc_a.action == DTRACEACT_DIFEXPR && type && type->is_string())
        return sign(load_string(a).compare(load_string(b)), 0);
    if (desc_a.action == DTRACEACT_DIFEXPR && a.size() <= 8 &&
        !(type && type->is_by_ref()))
        return sign(load_unsigned(a), load_unsigned(b));
    // Stacks and symbols consist of 64-bit words.
    if (desc_a.action != DTRACEACT_DIFEXPR) {
        for (std::size_t i = 0; i + 8 <= a.size() && i + 8 <= b.size(); i += 8)
            if (int order = sign(load_as<std::uint64_t>(a.data() + i),
                                 load_as<std::uint64_t>(b.data() + i)))
                return order;
        return sign(a.size(), b.size());
    }
    return sign(as_text(a).compare(as_text(b)), 0);
}

struct Weighed {
    AggEntry* entry;
    Weight weight;
};

} // namespace

int Aggregates::compare_keys(const AggEntry& a, const AggEntry& b,
                             std::size_t first_part)
{
    // A key with fewer parts comes first. Otherwise the order could be cyclic.
    const std::size_t n = a.agg->parts.size(), n_others = b.agg->parts.size();
    if (n != n_others)
        return n < n_others ? -1 : 1;
    for (std::size_t i = 0; i < n; i++) {
        std::size_t part = (i + (first_part < n ? first_part : 0)) % n;
        if (int order = compare_part(a.agg->parts[part], a.part(part), b.part(part)))
            return order;
    }
    return 0;
}

std::vector<AggEntry*> Aggregates::entries(std::uint32_t id, AggOrder order,
                                           const Display& display, bool reverse)
{
    std::vector<Weighed> all;
    for (auto& [table_id, table] : tables_)
        if (id == 0 || table_id == id)
            for (auto& [key, entry] : table)
                all.push_back({entry.get(), {}});
    // Start with the creation order, so that the order of walks is reproducible.
    std::sort(all.begin(), all.end(), [](const Weighed& a, const Weighed& b) {
        return a.entry->order < b.entry->order;
    });
    bool keys_first = order == AggOrder::Key || order == AggOrder::KeyVariable;
    bool by_variable = order == AggOrder::ByOption;
    bool variable_last =
        order == AggOrder::KeyVariable || order == AggOrder::ValueVariable;
    if (order == AggOrder::ByOption) {
        keys_first = display.aggsortkey;
        reverse ^= display.aggsortrev;
    }
    if (order != AggOrder::Unsorted) {
        for (Weighed& item : all)
            item.weight = weight_of(*item.entry);
        auto variables = [](const Weighed& a, const Weighed& b) {
            return a.entry->agg->id < b.entry->agg->id   ? -1
                   : a.entry->agg->id > b.entry->agg->id ? 1
                                                         : 0;
        };
        auto keys = [&](const Weighed& a, const Weighed& b) {
            return compare_keys(*a.entry, *b.entry, display.aggsortkeypos);
        };
        auto values = [](const Weighed& a, const Weighed& b) {
            return compare(a.weight, b.weight);
        };
        std::stable_sort(all.begin(), all.end(),
                         [&](const Weighed& a, const Weighed& b) {
                             if (by_variable)
                                 if (int c = variables(a, b))
                                     return c < 0;
                             int c = keys_first ? keys(a, b) : values(a, b);
                             if (c == 0 && (variable_last))
                                 c = variables(a, b);
                             if (c == 0)
                                 c = keys_first ? values(a, b) : keys(a, b);
                             return reverse ? c > 0 : c < 0;
                         });
    }
    std::vector<AggEntry*> result;
    result.reserve(all.size());
    for (const Weighed& item : all)
        result.push_back(item.entry);
    return result;
}

std::vector<std::vector<AggEntry*>>
Aggregates::joined(std::span<const std::uint32_t> ids, const Display& display)
{
    struct Row {
        std::vector<AggEntry*> columns;
        std::vector<Weight> weights;
        const AggEntry* key = nullptr;
    };
    std::vector<Row> rows;
    std::unordered_map<std::string_view, std::size_t> by_key;
    for (std::size_t column = 0; column < ids.size(); column++) {
        for (AggEntry* entry : entries(ids[column], AggOrder::Unsorted, display)) {
            auto [at, made] = by_key.emplace(as_text(entry->key()), rows.size());
            if (made) {
                rows.push_back({std::vector<AggEntry*>(ids.size()),
                                std::vector<Weight>(ids.size()), entry});
            }
            rows[at->second].columns[column] = entry;
            rows[at->second].weights[column] = weight_of(*entry);
        }
    }
    std::size_t first = display.aggsortpos < ids.size()
                            ? static_cast<std::size_t>(display.aggsortpos)
                            : 0;
    auto values = [&](const Row& a, const Row& b) {
        for (std::size_t i = 0; i < ids.size(); i++) {
            std::size_t column = (i + first) % ids.size();
            if (int c = compare(a.weights[column], b.weights[column]))
                return c;
        }
        return 0;
    };
    auto keys = [&](const Row& a, const Row& b) {
        return compare_keys(*a.key, *b.key, display.aggsortkeypos);
    };
    std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
        int c = display.aggsortkey ? keys(a, b) : values(a, b);
        if (c == 0)
            c = display.aggsortkey ? values(a, b) : keys(a, b);
        return display.aggsortrev ? c > 0 : c < 0;
    });
    std::vector<std::vector<AggEntry*>> result;
    result.reserve(rows.size());
    for (Row& row : rows)
        result.push_back(std::move(row.columns));
    return result;
}

bool Aggregates::obey(AggEntry& entry, AggVerdict verdict)
{
    switch (verdict) {
    case AggVerdict::Next:
    case AggVerdict::Normalize: // the callback has already set entry.normal
        return true;
    case AggVerdict::Clear:
        zero(entry);
        return true;
    case AggVerdict::Denormalize:
        entry.normal = 1;
        return true;
    case AggVerdict::Remove:
        erase(entry);
        return true;
    case AggVerdict::Error:
    case AggVerdict::Abort:
        break;
    }
    return false;
}

bool Aggregates::walk(std::uint32_t id, AggOrder order, const Display& display,
                      bool reverse, const std::function<AggVerdict(AggEntry&)>& fn)
{
    for (AggEntry* entry : entries(id, order, display, reverse))
        if (!obey(*entry, fn(*entry)))
            return false;
    return true;
}

} // namespace dt
