/*
 * Results of subroutines do not overwrite each other.
 * @flags: -q
 */
BEGIN
{
	this->a = strjoin("a", "1");
	this->b = strjoin("b", "2");
	this->c = substr(this->a, 1);
	this->d = toupper(this->b);
	printf("%s %s %s %s\n", this->a, this->b, this->c, this->d);
	exit(0);
}
