/* SPDX-License-Identifier: MIT */
/* vfork: see hook_vfork.c. The caller's return address is taken off the stack before the real call,
   which keeps its own in a register (glibc sysdeps/unix/sysv/linux/x86_64/vfork.S, musl
   src/process/x86_64/vfork.s), and both processes jump to it. The stack is aligned as the psABI
   wants it at each call. A shadow stack would notice the jumps: no .note.gnu.property may say that
   this library can do with one, and so none does. */
        .text
        .globl  vfork
        .type   vfork, @function
        .globl  __vfork
        .type   __vfork, @function
vfork:
__vfork:
        .cfi_startproc
        movq    (%rsp), %rdi
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    ms_vfork_before
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        testq   %rdx, %rdx
        jnz     1f
        jmp     *%rax
1:      addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        .cfi_undefined rip
        call    *%rax
        pushq   %rax
        .cfi_adjust_cfa_offset 8
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        movl    %eax, %edi
        call    ms_vfork_after
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        movq    %rax, %rdx
        popq    %rax
        .cfi_adjust_cfa_offset -8
        jmp     *%rdx
        .cfi_endproc
        .size   vfork, . - vfork
        .size   __vfork, . - __vfork
        .section .note.GNU-stack, "", @progbits
