/*
 * A clause without names is as stable as D itself.
 * @flags: -e -v
 * @stderr
 */
BEGIN { }
