/*
 * strtok splits a string at delimiters, and returns one part per call.
 * @flags: -q
 */
BEGIN
{
	this->s = "/usr//local,bin";
	printf("%s ", strtok(this->s, "/"));
	printf("%s ", strtok(NULL, "/"));
	printf("%d %d\n", strtok(NULL, "/") == NULL, strtok(NULL, "/") == NULL);
	printf("%s ", strtok("a=b c=d", "="));
	printf("%s ", strtok(NULL, " "));
	printf("%s\n", strtok(NULL, ""));
	printf("%s\n", this->s);
	exit(0);
}
