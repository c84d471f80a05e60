# cmake -DINPUT=.. -DOUTPUT=.. -DNAME=.. -DVARIABLE=.. -P EmbedText.cmake: a C++ file that gives the text of another one.
file(READ ${INPUT} text)
file(WRITE ${OUTPUT} "// Generated from ${NAME}.\nextern const char *const ${VARIABLE};\nconst char *const ${VARIABLE} = R\"PTX(${text})PTX\";\n")
