// Package printed reads texts that people have copied: from a terminal, a mail, a page of
// the web. It is pure.
//
//  1. Decode turns bytes into UTF-8: it reads byte order marks, UTF-16 and Latin-1.
//  2. Clean removes what a terminal or a page has added: colours, special blanks,
//     entities and tags of HTML.
//  3. Lines also removes what stands before and behind lines: marks of quotation, bullets,
//     bars of tables, the times of logs, numbers of lines, the names of containers and machines, whose lines it
//     puts one after the other, and whatever else is before each line of a report. It keeps the columns of tables below each other.
//  4. TitleOf finds what a text says about a report that begins in some line: a heading, or
//     a short line of its own. Prompts, progress, times and paragraphs are no titles.
//     Outline has everything above that one that looks like a title.
//
// The readers of bonnie's, iozone's and PostMark's reports share it, so that all tell the
// same text from its decoration.
package printed
