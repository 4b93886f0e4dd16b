// SPDX-License-Identifier: MIT
// The shortest program.
int main(void)
{
    return 0;
}
