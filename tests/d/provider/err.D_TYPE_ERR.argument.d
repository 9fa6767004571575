/* The type of a probe's argument that nobody has declared is named. */
provider app {
	probe start(int, number_t *);
};
BEGIN { exit(0); }
