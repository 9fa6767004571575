/*
 * In a folded line, each key is one part, even if it contains separators. Counts are normalized.
 * @flags: -x format=folded
 */
BEGIN
{
	@a["f+0x1 bar", ""] = count();
	@b["", "x;y"] = sum(10);
	normalize(@b, 5);
	@c = quantize(1, 10);
	normalize(@c, 2);
	ustack();
	exit(0);
}
