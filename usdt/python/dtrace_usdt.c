/* SPDX-License-Identifier: MIT */
/*
 * A Python module for static probes. It uses dtrace/usdt.h, and works with
 * Python 3.10 and later.
 *
 *   Provider ──owns──> struct dtrace_usdt_provider, slots
 *      ^                                             ^
 *      └──────holds── Probe ──────────points to──────┘
 *
 * The slot is not part of the Probe, because the library writes to the slot
 * when the provider is destroyed. The Probe may already be freed by then. The
 * provider is destroyed by destroy(), or when no reference to it or to its
 * probes remains.
 *
 * All code runs under the GIL, so no thread is in a probe while another one
 * destroys it.
 */
#define Py_LIMITED_API 0x030a0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <dtrace/usdt.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct dt_slot {
	struct dt_slot *next;
	const struct dtrace_usdt_probe *probe;
};

struct dt_provider {
	PyObject_HEAD struct dtrace_usdt_provider
	    *provider; /* NULL: destroyed */
	struct dt_slot *slots;
};

/* How a Python value is converted to a word. */
enum dt_kind { DT_INTEGER, DT_STRING, DT_DOUBLE };

struct dt_probe {
	PyObject_HEAD PyObject *provider;
	const struct dt_slot *slot;
	Py_ssize_t n_kinds;
	unsigned char kinds[DTRACE_USDT_MAX_ARGUMENTS];
	unsigned char was_told; /* a value of the wrong type was reported */
};

static PyTypeObject *dt_probe_type;

static PyObject *dt_raise(int error)
{
	if (error == ENOMEM) {
		PyErr_SetString(PyExc_MemoryError, dtrace_usdt_error());
	} else if (error == EINVAL || error == E2BIG) {
		PyErr_SetString(PyExc_ValueError, dtrace_usdt_error());
	} else {
		PyObject *arguments =
		    Py_BuildValue("(is)", error, dtrace_usdt_error());

		if (arguments)
			PyErr_SetObject(PyExc_OSError, arguments);
		Py_XDECREF(arguments);
	}
	return NULL;
}

static int dt_is_alive(struct dt_provider *self)
{
	if (!self->provider)
		PyErr_SetString(PyExc_ValueError, "the provider was destroyed");
	return self->provider != NULL;
}

static PyObject *dt_provider_new(PyTypeObject *type, PyObject *args,
				 PyObject *words)
{
	static char *names[] = {"name", "module", NULL};
	allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	const char *name, *module = NULL;
	struct dt_provider *self;

	if (!PyArg_ParseTupleAndKeywords(args, words, "s|z:Provider", names,
					 &name, &module))
		return NULL;
	self = (struct dt_provider *)allocate(type, 0);
	if (!self)
		return NULL;
	self->provider = dtrace_usdt_create(name, module);
	if (!self->provider) {
		Py_DECREF(self);
		return dt_raise(EINVAL);
	}
	return (PyObject *)self;
}

static void dt_provider_dealloc(struct dt_provider *self)
{
	PyTypeObject *type = Py_TYPE(self);

	dtrace_usdt_destroy(self->provider);
	while (self->slots) {
		struct dt_slot *slot = self->slots;

		self->slots = slot->next;
		free(slot);
	}
	((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
	Py_DECREF(type);
}

/*
 * Sets the kinds of the arguments from a tuple of str. The types must be valid.
 * Returns -1 if an exception is set.
 */
static int dt_set_kinds(struct dt_probe *probe, PyObject *types)
{
	Py_ssize_t n = PyTuple_Size(types);

	for (Py_ssize_t i = 0; i < n && i < DTRACE_USDT_MAX_ARGUMENTS; i++) {
		const char *type =
		    PyUnicode_AsUTF8AndSize(PyTuple_GetItem(types, i), NULL);

		if (!type)
			return -1;
		probe->kinds[i] = strcmp(type, "string") == 0	? DT_STRING
				  : strcmp(type, "double") == 0 ? DT_DOUBLE
								: DT_INTEGER;
	}
	probe->n_kinds = n;
	return 0;
}

/*
 * Checks that each element is a str that names a single type. Returns -1 if an
 * exception is set.
 */
static int dt_check_types(PyObject *types)
{
	for (Py_ssize_t i = 0; i < PyTuple_Size(types); i++) {
		PyObject *each = PyTuple_GetItem(types, i);
		const char *type = PyUnicode_Check(each)
				       ? PyUnicode_AsUTF8AndSize(each, NULL)
				       : NULL;

		if (type && *type && !strpbrk(type, ", \t\n"))
			continue;
		PyErr_Format(PyExc_TypeError,
			     "type %zd of the probe must be a str of one word, "
			     "without blanks or commas", i);
		return -1;
	}
	return 0;
}

/*
 * Returns the types as one str, such as "int32_t string", or NULL if an
 * exception is set. The caller owns the reference.
 */
static PyObject *dt_joined(PyObject *types)
{
	PyObject *blank = PyUnicode_FromString(" "), *joined = NULL;

	if (blank)
		joined = PyUnicode_Join(blank, types);
	Py_XDECREF(blank);
	return joined;
}

static int dt_add(struct dt_provider *self, struct dt_probe *probe,
		  const char *function, const char *name, PyObject *types)
{
	struct dt_slot *slot = calloc(1, sizeof *slot);
	PyObject *joined = NULL;
	const char *text;
	int error;

	if (!slot) {
		PyErr_NoMemory();
		return -1;
	}
	joined = dt_joined(types);
	text = joined ? PyUnicode_AsUTF8AndSize(joined, NULL) : NULL;
	if (!text || dt_set_kinds(probe, types) != 0) {
		Py_XDECREF(joined);
		free(slot);
		return -1;
	}
	error =
	    dtrace_usdt_add(self->provider, function, name, text, &slot->probe);
	Py_DECREF(joined);
	if (error != 0) {
		free(slot);
		dt_raise(error);
		return -1;
	}
	slot->next = self->slots;
	self->slots = slot;
	probe->slot = slot;
	Py_INCREF(self);
	probe->provider = (PyObject *)self;
	return 0;
}

static PyObject *dt_provider_probe(struct dt_provider *self, PyObject *args,
				   PyObject *words)
{
	static char *names[] = {"", "function", NULL};
	allocfunc allocate =
	    (allocfunc)PyType_GetSlot(dt_probe_type, Py_tp_alloc);
	PyObject *first = NULL, *types = NULL, *result = NULL;
	const char *name, *function = NULL;
	struct dt_probe *probe;

	if (!dt_is_alive(self))
		return NULL;
	/* `function` is a keyword argument. The others are positional. */
	first = PyTuple_GetSlice(args, 0, 1);
	types = PyTuple_GetSlice(args, 1, PyTuple_Size(args));
	if (first && types && dt_check_types(types) == 0 &&
	    PyArg_ParseTupleAndKeywords(first, words, "s|z:probe", names, &name,
					&function)) {
		probe = (struct dt_probe *)allocate(dt_probe_type, 0);
		if (probe && dt_add(self, probe, function, name, types) == 0)
			result = (PyObject *)probe;
		else
			Py_XDECREF(probe);
	}
	Py_XDECREF(first);
	Py_XDECREF(types);
	return result;
}

static PyObject *dt_provider_load(struct dt_provider *self, PyObject *nothing)
{
	int error;

	(void)nothing;
	if (!dt_is_alive(self))
		return NULL;
	error = dtrace_usdt_load(self->provider);
	if (error != 0)
		return dt_raise(error);
	Py_INCREF(Py_None);
	return Py_None;
}

static PyObject *dt_provider_destroy(struct dt_provider *self,
				     PyObject *nothing)
{
	(void)nothing;
	dtrace_usdt_destroy(self->provider);
	self->provider = NULL;
	Py_INCREF(Py_None);
	return Py_None;
}

static void dt_probe_dealloc(struct dt_probe *self)
{
	PyTypeObject *type = Py_TYPE(self);

	Py_XDECREF(self->provider);
	((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
	Py_DECREF(type);
}

static int dt_probe_bool(struct dt_probe *self)
{
	return dtrace_usdt_enabled(self->slot->probe);
}

static PyObject *dt_probe_enabled(struct dt_probe *self, void *nothing)
{
	(void)nothing;
	return PyBool_FromLong(dt_probe_bool(self));
}

/*
 * Returns the text as UTF-8, or NULL if an exception is set. If the text has
 * surrogates, they become the bytes that they represent (PEP 383). If this is
 * not possible, they are encoded like other characters. If an object other than
 * `value` owns the text, *kept is set to this object.
 */
static const char *dt_text_of(PyObject *value, PyObject **kept)
{
	const char *text = PyUnicode_AsUTF8AndSize(value, NULL);
	static const char *const ways[] = {"surrogateescape", "surrogatepass"};

	for (int i = 0; !text && i < 2; i++) {
		if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
			return NULL;
		PyErr_Clear();
		*kept = PyUnicode_AsEncodedString(value, "utf-8", ways[i]);
		text = *kept ? PyBytes_AsString(*kept) : NULL;
	}
	return text;
}

/*
 * Converts a value to its word. value and *kept must outlive the firing.
 * Returns -1 if an exception is set.
 */
static int dt_word_of(PyObject *value, unsigned char kind, uint64_t *word,
		      PyObject **kept)
{
	const char *text;
	double real;

	if (kind == DT_DOUBLE) {
		real = PyFloat_AsDouble(value);
		if (real == -1.0 && PyErr_Occurred())
			return -1;
		*word = dtrace_usdt_double(real);
		return 0;
	}
	if (value == Py_None)
		return 0;
	if (kind == DT_INTEGER) {
		uint64_t bits = PyLong_AsUnsignedLongLongMask(value);

		if (bits == (uint64_t)-1 && PyErr_Occurred())
			return -1;
		*word = bits;
		return 0;
	}
	if (PyUnicode_Check(value)) {
		text = dt_text_of(value, kept);
	} else if (PyBytes_Check(value)) {
		text = PyBytes_AsString(value);
	} else {
		PyErr_SetString(PyExc_TypeError,
				"a string argument must be str, bytes or None");
		return -1;
	}
	*word = (uint64_t)(uintptr_t)text;
	return text ? 0 : -1;
}

/*
 * Handles an exception from the conversion of a value. For an Exception,
 * returns 0. The tracer then gets 0 for the value, and the probe's first
 * exception is passed to sys.unraisablehook(). Returns -1 for all other
 * exceptions, such as KeyboardInterrupt.
 */
static int dt_excuse(struct dt_probe *self)
{
	if (!PyErr_ExceptionMatches(PyExc_Exception))
		return -1;
	if (self->was_told)
		PyErr_Clear();
	else
		PyErr_WriteUnraisable((PyObject *)self);
	self->was_told = 1;
	return 0;
}

/* Fires a probe that is traced. Returns -1 if an exception is set. */
static int dt_fire(struct dt_probe *self, PyObject *const *values)
{
	uint64_t words[DTRACE_USDT_MAX_ARGUMENTS] = {0};
	PyObject *kept[DTRACE_USDT_MAX_ARGUMENTS] = {NULL};
	int error = 0;

	for (Py_ssize_t i = 0; error == 0 && i < self->n_kinds; i++)
		if (dt_word_of(values[i], self->kinds[i], &words[i],
			       &kept[i]) != 0)
			error = dt_excuse(self);
	/*
	 * __index__() of a value may have destroyed the provider, so the slot
	 * is read last.
	 */
	if (error == 0)
		dtrace_usdt_fire(self->slot->probe, words);
	for (Py_ssize_t i = 0; i < self->n_kinds; i++)
		Py_XDECREF(kept[i]);
	return error;
}

static PyObject *dt_probe_fire(struct dt_probe *self, PyObject *const *values,
			       Py_ssize_t n)
{
	if (n != self->n_kinds) {
		PyErr_Format(PyExc_TypeError,
			     "the probe takes %zd arguments, not %zd",
			     self->n_kinds, n);
		return NULL;
	}
	if (dt_probe_bool(self) && dt_fire(self, values) != 0)
		return NULL;
	Py_INCREF(Py_None);
	return Py_None;
}

#define DT_METHOD(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef dt_provider_methods[] = {
    {"probe", DT_METHOD(dt_provider_probe), METH_VARARGS | METH_KEYWORDS,
     "probe(name, *types, function=None)\n--\n\n"
     "Adds a probe, which the next load() creates. The default for `function` is "
     "`name`.\n"
     "Types: int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t "
     "pointer\n"
     "string double; at most 12. ValueError: an invalid name or type."},
    {"load", DT_METHOD(dt_provider_load), METH_NOARGS,
     "load()\n--\n\n"
     "Creates the probes that were added since the last load(). OSError: code can "
     "be loaded\n"
     "neither from memory nor from $TMPDIR; the probes then stay disabled, and "
     "firing them\n"
     "has no effect."},
    {"destroy", DT_METHOD(dt_provider_destroy), METH_NOARGS,
     "destroy()\n--\n\nUnloads the provider. Its probes stay disabled afterwards."},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef dt_probe_methods[] = {
    {"fire", DT_METHOD(dt_probe_fire), METH_FASTCALL,
     "fire(*values)\n--\n\n"
     "Fires the probe if it is traced. Pass one value for each declared type.\n"
     "Integer: int, truncated to the declared size, or None for 0. String: str\n"
     "(encoded as UTF-8, surrogates as in os.fsencode()), bytes or None; only "
     "the bytes\n"
     "before the first zero byte are recorded. Floating point: float. Raises "
     "TypeError\n"
     "if there are too few or too many values. A value "
     "of the wrong type\n"
     "is traced as 0 and reported once for each probe to sys.unraisablehook(), "
     "so that tracing\n"
     "does not change what the program does."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef dt_probe_members[] = {
    {"enabled", (getter)dt_probe_enabled, NULL,
     "Whether the probe is traced, like bool(probe).", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot dt_provider_slots[] = {
    {Py_tp_new, dt_provider_new},
    {Py_tp_dealloc, dt_provider_dealloc},
    {Py_tp_methods, dt_provider_methods},
    {Py_tp_doc, "Provider(name, module=None)\n--\n\n"
		"name: letters, digits and _, not ending in a digit. module: "
		"the module name\n"
		"that D shows for the probes; the default is `name`."},
    {0, NULL},
};

static PyType_Slot dt_probe_slots[] = {
    {Py_tp_dealloc, dt_probe_dealloc},
    {Py_tp_methods, dt_probe_methods},
    {Py_tp_getset, dt_probe_members},
    {Py_nb_bool, dt_probe_bool},
    {Py_tp_doc, "A probe of a Provider; true while it is traced."},
    {0, NULL},
};

static PyType_Spec dt_provider_spec = {"dtrace_usdt.Provider",
				       sizeof(struct dt_provider), 0,
				       Py_TPFLAGS_DEFAULT, dt_provider_slots};
static PyType_Spec dt_probe_spec = {
    "dtrace_usdt.Probe", sizeof(struct dt_probe), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, dt_probe_slots};

static struct PyModuleDef dt_module = {
    PyModuleDef_HEAD_INIT,
    "dtrace_usdt",
    "Static probes (USDT) for Python programs. dtrace, bpftrace and gdb can "
    "trace them.\n\n"
    "    provider = dtrace_usdt.Provider('app')\n"
    "    query = provider.probe('query-start', 'string', 'int32_t', "
    "function='parse')\n"
    "    provider.load()\n"
    "    if query:\n"
    "        query.fire(describe(), 7)\n\n"
    "    # dtrace -n 'app*:::query-start { trace(copyinstr(arg0)); }' -p PID\n",
    -1,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
};

PyMODINIT_FUNC PyInit_dtrace_usdt(void);
PyMODINIT_FUNC PyInit_dtrace_usdt(void)
{
	PyObject *module = PyModule_Create(&dt_module);
	PyObject *provider = PyType_FromSpec(&dt_provider_spec);

	dt_probe_type = (PyTypeObject *)PyType_FromSpec(&dt_probe_spec);
	if (!module || !provider || !dt_probe_type ||
	    PyModule_AddType(module, (PyTypeObject *)provider) != 0 ||
	    PyModule_AddType(module, dt_probe_type) != 0) {
		Py_XDECREF(module);
		Py_XDECREF(provider);
		return NULL;
	}
	Py_DECREF(provider);
	return module;
}
