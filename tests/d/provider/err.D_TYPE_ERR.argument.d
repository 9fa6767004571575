/* The error message about an undeclared type of a probe argument contains the type's name. */
provider app {
	probe start(int, number_t *);
};
BEGIN { exit(0); }
