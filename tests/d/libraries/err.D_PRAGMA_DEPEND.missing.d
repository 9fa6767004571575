/*
 * A library may depend on another one that is not there.
 * @flags: -L missing
 */
BEGIN { exit(0); }
