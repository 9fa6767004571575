/*
 * count counts.
 * @flags: -q
 */
BEGIN { @ = count(); @ = count(); @ = count(); exit(0); }
