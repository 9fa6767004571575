/*
 * count counts how often it is called.
 * @flags: -q
 */
BEGIN { @ = count(); @ = count(); @ = count(); exit(0); }
