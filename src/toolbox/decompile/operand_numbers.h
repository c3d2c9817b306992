// What the numbers mean that some instructions of lifted code have for an argument (lifted_ops.def).
#pragma once

namespace suture::toolbox {

// Of CALL_INTRINSIC_1, which calls a function of the interpreter with one argument.
enum Intrinsic1 : int {
  kPrint = 1,  // of interactive code
  kImportStar = 2,
  kAsyncGenWrap = 4,
  kUnaryPositive = 5,
  kListToTuple = 6,
  kTypeVar = 7,
  kParamSpec = 8,
  kTypeVarTuple = 9,
  kSubscriptGeneric = 10,
  kTypeAlias = 11,
};

// Of CALL_INTRINSIC_2.
enum Intrinsic2 : int {
  kPrepareReraiseStar = 1,
  kTypeVarWithBound = 2,
  kTypeVarWithConstraints = 3,
  kSetFunctionTypeParams = 4,
  kSetTypeParamDefault = 5,  // 3.13
};

// Of SET_FUNCTION_ATTRIBUTE; MAKE_FUNCTION before 3.13 has them as bits.
enum FunctionAttribute : int {
  kDefaults = 1,
  kKeywordDefaults = 2,
  kAnnotations = 4,
  kClosure = 8,
};
// In the order in which MAKE_FUNCTION takes them from the stack, the top first.
inline constexpr FunctionAttribute kFunctionAttributes[] = {kClosure, kAnnotations, kKeywordDefaults,
                                                            kDefaults};

}  // namespace suture::toolbox
