#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ciphers.py LIBRARY [MAX_BYTES]: prints a line with a checksum for each hash and cipher of a library. Such
libraries store data tables between their instructions. If a tracer damages a table, a line changes."""
import ctypes, sys
from ctypes import byref, c_char_p, c_int, c_size_t, c_void_p, create_string_buffer

LENGTHS = [*range(0, 70), 111, 112, 127, 128, 129, 255, 256, 257, 511, 1000, 1024, 2047, 4096 + 17]
MESSAGE = bytes(i * 7 + (i >> 8) & 255 for i in range(4096 + 64))

def lengths(most):
    return [n for n in LENGTHS if n <= most]

def show(kind, name, parts):
    # Combine the results without calling the library under test.
    total = 0
    for part in parts:
        for byte in part:
            total = (total * 1000003 ^ byte) & (1 << 128) - 1
    print(kind, name, f"{total:032x}")

def pointers(library, *names):
    for name in names:
        getattr(library, name).restype = c_void_p

def gcrypt(library, most):
    library.gcry_check_version.restype = library.gcry_md_algo_name.restype = c_char_p
    library.gcry_cipher_algo_name.restype = c_char_p
    library.gcry_check_version(None)
    library.gcry_control(37, 0)                                # GCRYCTL_DISABLE_SECMEM
    library.gcry_control(38, 0)                                # GCRYCTL_INITIALIZATION_FINISHED
    for algorithm in range(1, 330):
        size = library.gcry_md_get_algo_dlen(algorithm)
        if size <= 0:
            continue
        def digest(n, algorithm=algorithm, size=size):
            out = create_string_buffer(size)
            library.gcry_md_hash_buffer(algorithm, out, MESSAGE, c_size_t(n))
            return out.raw
        show("hash", library.gcry_md_algo_name(algorithm).decode(), map(digest, lengths(most)))
    for algorithm in (*range(1, 12), *range(301, 330)):
        key_bytes = library.gcry_cipher_get_algo_keylen(algorithm)
        block = library.gcry_cipher_get_algo_blklen(algorithm)
        for mode in range(1, 18) if key_bytes > 0 else ():
            results = []
            for n in (block, 16 * block, 16 * 33, most // 64 * 64):
                cipher = c_void_p()
                if library.gcry_cipher_open(byref(cipher), algorithm, mode, 0) != 0:
                    break
                key = MESSAGE[5:5 + key_bytes * (2 if mode in (13, 15) else 1)]
                data = create_string_buffer(MESSAGE[:n], n)
                state = [library.gcry_cipher_setkey(cipher, key, c_size_t(len(key)))]
                state.append(library.gcry_cipher_setiv(cipher, MESSAGE[:16], c_size_t(12 if mode in (9, 10, 11) else block)))
                if mode == 6:
                    state.append(library.gcry_cipher_setctr(cipher, MESSAGE[:16], c_size_t(block)))
                for call in (library.gcry_cipher_encrypt, library.gcry_cipher_decrypt):
                    state.append(call(cipher, data, c_size_t(n), None, c_size_t(0)))
                    results.append(data.raw)
                results.append(repr(state).encode())
                library.gcry_cipher_close(cipher)
            if results:
                show("cipher", f"{library.gcry_cipher_algo_name(algorithm).decode()} mode {mode}", results)

def each_name(library, function):
    """Returns the names that an EVP_..._do_all() function reports, in order."""
    names = set()
    visitor = ctypes.CFUNCTYPE(None, c_void_p, c_char_p, c_char_p, c_void_p)
    def visit(method, name, _to, _arg):
        if method and name:
            names.add(name)
    getattr(library, function)(visitor(visit), None)
    return sorted(names)

def crypto(library, most):
    pointers(library, "EVP_MD_CTX_new", "EVP_CIPHER_CTX_new", "EVP_get_digestbyname", "EVP_get_cipherbyname")
    library.OPENSSL_init_crypto(ctypes.c_uint64(0x0c), None)  # load the names of legacy algorithms
    for name in each_name(library, "EVP_MD_do_all"):
        method = c_void_p(library.EVP_get_digestbyname(name))
        def digest(n, method=method):
            out, size = create_string_buffer(64), ctypes.c_uint(0)
            state = library.EVP_Digest(MESSAGE, c_size_t(n), out, byref(size), method, None)
            return out.raw + bytes([state & 255])
        show("hash", name.decode(), map(digest, lengths(most)))
    for name in each_name(library, "EVP_CIPHER_do_all"):
        method = c_void_p(library.EVP_get_cipherbyname(name))
        if b"wrap" in name:
            continue
        results = []
        for n in (0, 1, 16, 16 * 33, most // 64 * 64):
            for encrypts in (1, 0):
                context = c_void_p(library.EVP_CIPHER_CTX_new())
                out, size = create_string_buffer(n + 64), c_int(0)
                state = [library.EVP_CipherInit_ex(context, method, None, MESSAGE[3:67], MESSAGE[:16], encrypts)]
                if state[0] == 1:
                    library.EVP_CIPHER_CTX_set_padding(context, 0)
                    state.append(library.EVP_CipherUpdate(context, out, byref(size), MESSAGE, n))
                    results.append(out.raw)
                library.EVP_CIPHER_CTX_free(context)
                results.append(repr((state, size.value)).encode())
        show("cipher", name.decode(), results)

def sodium(library, most):
    library.sodium_init()
    pointers(library)
    size = c_size_t
    for name, n_out in (("crypto_hash_sha256", 32), ("crypto_hash_sha512", 64)):
        def digest(n, name=name, n_out=n_out):
            out = create_string_buffer(n_out)
            getattr(library, name)(out, MESSAGE, ctypes.c_ulonglong(n))
            return out.raw
        show("hash", name, map(digest, lengths(most)))
    def blake(n):
        out = create_string_buffer(32)
        library.crypto_generichash(out, size(32), MESSAGE, ctypes.c_ulonglong(n), None, size(0))
        return out.raw
    show("hash", "crypto_generichash", map(blake, lengths(most)))
    for name in ("crypto_stream_xor", "crypto_stream_chacha20_xor", "crypto_stream_salsa20_xor",
                 "crypto_stream_xchacha20_xor", "crypto_stream_chacha20_ietf_xor"):
        def stream(n, name=name):
            out = create_string_buffer(n + 1)
            getattr(library, name)(out, MESSAGE, ctypes.c_ulonglong(n), MESSAGE[7:31], MESSAGE[40:72])
            return out.raw
        show("cipher", name, map(stream, lengths(most)))
    def tag(n):
        out = create_string_buffer(16)
        library.crypto_onetimeauth(out, MESSAGE, ctypes.c_ulonglong(n), MESSAGE[9:41])
        return out.raw
    show("hash", "crypto_onetimeauth", map(tag, lengths(most)))
    out = create_string_buffer(32)
    library.crypto_scalarmult_base(out, MESSAGE[50:82])
    show("cipher", "crypto_scalarmult_base", [out.raw])

def gnutls(library, most):
    library.gnutls_digest_get_name.restype = c_char_p
    library.gnutls_cipher_get_name.restype = c_char_p
    class Datum(ctypes.Structure):
        _fields_ = [("data", c_char_p), ("size", ctypes.c_uint)]
    for algorithm in range(1, 32):
        size = library.gnutls_hash_get_len(algorithm)
        if size <= 0:
            continue
        def digest(n, algorithm=algorithm, size=size):
            out = create_string_buffer(size)
            return bytes([library.gnutls_hash_fast(algorithm, MESSAGE, c_size_t(n), out) & 255]) + out.raw
        show("hash", str(library.gnutls_digest_get_name(algorithm)), map(digest, lengths(most)))
    for algorithm in range(1, 40):
        key = Datum(MESSAGE[5:], library.gnutls_cipher_get_key_size(algorithm))
        iv = Datum(MESSAGE[9:], library.gnutls_cipher_get_iv_size(algorithm))
        if key.size == 0:
            continue
        results = []
        for n in (64, 16 * 33, most // 64 * 64):
            cipher = c_void_p()
            state = library.gnutls_cipher_init(byref(cipher), algorithm, byref(key), byref(iv))
            results.append(bytes([state & 255]))
            if state != 0:
                break
            data = create_string_buffer(MESSAGE[:n], n)
            for call in (library.gnutls_cipher_encrypt,):
                results.append(bytes([call(cipher, data, c_size_t(n)) & 255]) + data.raw)
            library.gnutls_cipher_deinit(cipher)
        show("cipher", str(library.gnutls_cipher_get_name(algorithm)), results)

def mbedcrypto(library, most):
    library.mbedtls_md_list.restype = ctypes.POINTER(c_int)
    library.mbedtls_cipher_list.restype = ctypes.POINTER(c_int)
    pointers(library, "mbedtls_md_info_from_type", "mbedtls_cipher_info_from_type")
    def each(listed):
        i = 0
        while listed[i] != 0:
            yield listed[i]
            i += 1
    for kind in each(library.mbedtls_md_list()):
        info = c_void_p(library.mbedtls_md_info_from_type(kind))
        def digest(n, info=info):
            out = create_string_buffer(64)
            return bytes([library.mbedtls_md(info, MESSAGE, c_size_t(n), out) & 255]) + out.raw
        show("hash", str(kind), map(digest, lengths(most)))
    for kind in each(library.mbedtls_cipher_list()):
        info = c_void_p(library.mbedtls_cipher_info_from_type(kind))
        results = []
        for n in (16, 16 * 33):
            context, size = create_string_buffer(1024), c_size_t(0)
            library.mbedtls_cipher_init(context)
            state = [library.mbedtls_cipher_setup(context, info)]
            for bits in (64, 128, 192, 256, 512):
                state.append(library.mbedtls_cipher_setkey(context, MESSAGE[5:], bits, 1))
            out = create_string_buffer(n + 64)
            state.append(library.mbedtls_cipher_crypt(context, MESSAGE, c_size_t(16), MESSAGE, c_size_t(n), out, byref(size)))
            library.mbedtls_cipher_free(context)
            results += [out.raw, repr((state, size.value)).encode()]
        show("cipher", str(kind), results)

if __name__ == "__main__":
    library = sys.argv[1]
    most = int(sys.argv[2]) if len(sys.argv) > 2 else max(LENGTHS)
    kinds = {"gcrypt": gcrypt, "crypto": crypto, "sodium": sodium, "gnutls": gnutls, "mbedcrypto": mbedcrypto}
    kind = kinds[library.removeprefix("lib").split(".")[0]]
    kind(ctypes.CDLL(library), most)
