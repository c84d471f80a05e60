# cmake -DINPUT=.. -DOUTPUT=.. -DNAME=.. -P EmbedText.cmake: a C++ file that gives the text of another one.
file(READ ${INPUT} text)
file(WRITE ${OUTPUT} "// Generated from ${NAME}.\nextern const char *const dgcPeerReducePtx;\nconst char *const dgcPeerReducePtx = R\"PTX(${text})PTX\";\n")
