/*
 * Branches may update aggregations.
 * @flags: -q
 */
BEGIN
{
	if (1) { @a["then"] = count(); } else { @a["else"] = count(); }
	if (0) { @a["then"] = count(); } else { @a["else"] = count(); }
	if (1) { @a["then"] = count(); }
	printa("%s %@d\n", @a);
	exit(0);
}
