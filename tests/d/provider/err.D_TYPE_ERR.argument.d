/* The error for an undeclared type of a probe's argument names the type. */
provider app {
	probe start(int, number_t *);
};
BEGIN { exit(0); }
