/* SPDX-License-Identifier: MIT */
/*
 * Providers. Each load creates an object with the probes in `wanted`.
 *
 * The caller's variable always points to a probe that can be fired:
 * dt_usdt_off, or a probe of an object.
 */
#define _GNU_SOURCE /* strdup() */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct dtrace_usdt_provider {
	char name[DT_USDT_MAX_PROVIDER + 1];
	char module[DT_USDT_MAX_MODULE + 1];
	struct dt_usdt_wanted *wanted;
	size_t n_wanted, room;
	struct dt_usdt_object *objects;
};

static void dt_reach_nothing(const uint64_t *arguments)
{
	(void)arguments;
}

static const struct dtrace_usdt_probe dt_usdt_off = {.reach = dt_reach_nothing};

static void dt_set(const struct dtrace_usdt_probe **slot,
		   const struct dtrace_usdt_probe *to)
{
	__atomic_store_n(slot, to, __ATOMIC_RELEASE);
}

struct dtrace_usdt_provider *dtrace_usdt_create(const char *name,
						const char *module)
{
	struct dtrace_usdt_provider *provider;

	if (dt_usdt_check_provider(name ? name : "") != 0 ||
	    (module && dt_usdt_check_module(module) != 0))
		return NULL;
	provider = calloc(1, sizeof *provider);
	if (!provider) {
		dt_usdt_fail(ENOMEM, "no memory for provider %s", name);
		return NULL;
	}
	strcpy(provider->name, name);
	strcpy(provider->module, module ? module : name);
	return provider;
}

/* Returns a copy in which __ replaces every -, or NULL if memory runs out. */
static char *dt_name_in_note(const char *name)
{
	char *copy = malloc(2 * strlen(name) + 1), *to = copy;

	if (!copy)
		return NULL;
	for (; *name; name++) {
		*to++ = *name == '-' ? '_' : *name;
		if (*name == '-')
			*to++ = '_';
	}
	*to = 0;
	return copy;
}

static int dt_have_room(struct dtrace_usdt_provider *provider)
{
	size_t room = provider->room ? 2 * provider->room : 16;
	struct dt_usdt_wanted *more;

	if (provider->n_wanted < provider->room)
		return 1;
	more = realloc(provider->wanted, room * sizeof *more);
	if (!more)
		return 0;
	provider->wanted = more;
	provider->room = room;
	return 1;
}

int dtrace_usdt_add(struct dtrace_usdt_provider *provider, const char *function,
		    const char *name, const char *arguments,
		    const struct dtrace_usdt_probe **probe)
{
	struct dt_usdt_wanted wanted;
	int error;

	dt_set(probe, &dt_usdt_off);
	memset(&wanted, 0, sizeof wanted);
	if ((error = dt_usdt_check_name(name ? name : "")) != 0 ||
	    (function && (error = dt_usdt_check_function(function)) != 0) ||
	    (error =
		 dt_usdt_parse_types(arguments ? arguments : "", &wanted)) != 0)
		return error;
	if (provider->n_wanted == DT_USDT_MAX_PROBES)
		return dt_usdt_fail(E2BIG,
				    "provider %s has %d probes that are not "
				    "loaded: load them first",
				    provider->name, DT_USDT_MAX_PROBES);
	wanted.slot = probe;
	wanted.name = dt_name_in_note(name);
	wanted.function =
	    wanted.name ? strdup(function ? function : wanted.name) : NULL;
	if (!wanted.function || !dt_have_room(provider)) {
		free(wanted.function);
		free(wanted.name);
		return dt_usdt_fail(ENOMEM,
				    "no memory for probe %s of provider %s",
				    name, provider->name);
	}
	provider->wanted[provider->n_wanted++] = wanted;
	return 0;
}

static void dt_forget_wanted(struct dtrace_usdt_provider *provider)
{
	for (size_t i = 0; i < provider->n_wanted; i++) {
		free(provider->wanted[i].function);
		free(provider->wanted[i].name);
	}
	free(provider->wanted);
	provider->wanted = NULL;
	provider->n_wanted = provider->room = 0;
}

/* Sets the caller's variables to the object's probes, and empties `wanted`. */
static void dt_hand_out(struct dtrace_usdt_provider *provider,
			struct dt_usdt_object *object,
			const struct dt_usdt_image *image)
{
	struct dtrace_usdt_probe *probes =
	    (struct dtrace_usdt_probe *)(object->base + image->probes_at);
	unsigned char *stubs = object->base + image->stubs_at;

	for (size_t i = 0; i < provider->n_wanted; i++) {
		probes[i].reach = (void (*)(const uint64_t *))(
		    stubs + i * DT_USDT_STUB_BYTES);
		object->slots[i] = provider->wanted[i].slot;
		dt_set(object->slots[i], &probes[i]);
	}
	object->n_slots = provider->n_wanted;
	object->next = provider->objects;
	provider->objects = object;
	dt_forget_wanted(provider);
}

int dtrace_usdt_load(struct dtrace_usdt_provider *provider)
{
	struct dt_usdt_object *object;
	struct dt_usdt_image image;
	uint64_t token;
	int error;

	if (provider->n_wanted == 0)
		return 0;
	object = calloc(1, sizeof *object);
	if (object)
		object->slots =
		    calloc(provider->n_wanted, sizeof *object->slots);
	if (!object || !object->slots) {
		free(object);
		return dt_usdt_fail(
		    ENOMEM, "no memory for the %zu probes of provider %s",
		    provider->n_wanted, provider->name);
	}
	token = (uint64_t)(uintptr_t)object;
	error = dt_usdt_make_image(&image, provider->name, provider->wanted,
				   provider->n_wanted, token);
	if (error == 0) {
		error =
		    dt_usdt_load_image(object, &image, provider->module, token);
		dt_bytes_free(&image.bytes);
	}
	if (error != 0) {
		free(object->slots);
		free(object);
		return error;
	}
	dt_hand_out(provider, object, &image);
	return 0;
}

void dtrace_usdt_destroy(struct dtrace_usdt_provider *provider)
{
	if (!provider)
		return;
	while (provider->objects) {
		struct dt_usdt_object *object = provider->objects;

		provider->objects = object->next;
		for (size_t i = 0; i < object->n_slots; i++)
			dt_set(object->slots[i], &dt_usdt_off);
		dt_usdt_unload(object);
		free(object->slots);
		free(object);
	}
	dt_forget_wanted(provider);
	free(provider);
}
