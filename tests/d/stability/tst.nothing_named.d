/*
 * A clause that names nothing is as stable as D.
 * @flags: -e -v
 * @stderr
 */
BEGIN { }
