/*
 * If an inline has no attributes, the names in it must be as stable as -x amin requires.
 * @flags: -x amin=Stable/Stable/Common
 */
inline int one = htons(256);
BEGIN
{
	trace(one);
}
