// RUN: dgc-opt %s -verify-diagnostics -dgc-limit-communication='forbid=gather'

// expected-error @+1 {{there is no collective 'gather' to forbid; one of all_reduce, all_gather, reduce_scatter, all_to_all, permute, broadcast is}}
module {
}
