/*
 * All uses of vtimestamp in a clause have the same value.
 * @flags: -q
 */
BEGIN { this->first = vtimestamp; this->second = vtimestamp; printf("%d\n", this->second - this->first); exit(0); }
